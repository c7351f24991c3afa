import { describe, expect, test } from 'vitest'
import { backoffMs, resolveRetryPolicy, RETRY_DEFAULTS } from '../../src/model/retry-policy.ts'

describe('the retry policy', () => {
  test('twelve attempts take about three days', () => {
    const waits = Array.from({ length: RETRY_DEFAULTS.attemptsMax - 1 }, (_, i) =>
      backoffMs(RETRY_DEFAULTS, i + 1, () => 0.5),
    )
    const hours = waits.reduce((sum, wait) => sum + wait, 0) / 3_600_000

    expect(hours).toBeGreaterThan(60)
    expect(hours).toBeLessThan(80)
  })

  test('each wait is longer than the one before, up to the longest', () => {
    const policy = resolveRetryPolicy({ firstMs: 100, factor: 2, maxMs: 500 })

    expect([1, 2, 3, 4, 5].map((attempt) => backoffMs(policy, attempt, () => 0.5))).toEqual([
      100, 200, 400, 500, 500,
    ])
  })

  test('jitter moves a wait by a fifth to both sides', () => {
    const policy = resolveRetryPolicy({ firstMs: 1_000 })

    expect(backoffMs(policy, 1, () => 0)).toBe(800)
    expect(backoffMs(policy, 1, () => 1)).toBe(1_200)
  })

  test.each([
    [{ attemptsMax: 0 }, 'retry.attemptsMax'],
    [{ firstMs: -1 }, 'retry.firstMs'],
    [{ factor: 0.5 }, 'retry.factor'],
    [{ factor: Number.NaN }, 'retry.factor'],
    [{ maxMs: 1.5 }, 'retry.maxMs'],
    [{ attempts: 3 }, 'retry.attempts'],
  ])('%j is refused by name', (options, option) => {
    expect(() => resolveRetryPolicy(options as object)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option }),
    )
  })
})
