import { describe, expect, test } from 'vitest'
import { TopicHealth } from '../../src/work/topic-health.ts'

const GOOD = { durationMs: 1, failed: false }
const BAD = { durationMs: 1, failed: true }

describe('the health of a topic', () => {
  test('is good until it has shown otherwise', () => {
    expect(new TopicHealth({ slowMs: 100 }).isTroubled(1)).toBe(false)
  })

  test('is bad after some failures in a row, not after one, and good again after some successes', () => {
    const health = new TopicHealth({ slowMs: 100 })
    health.ran(1, BAD)
    expect(health.isTroubled(1)).toBe(false)
    for (let n = 0; n < 5; n += 1) health.ran(1, BAD)
    expect(health.isTroubled(1)).toBe(true)

    for (let n = 0; n < 10; n += 1) health.ran(1, GOOD)

    expect(health.isTroubled(1)).toBe(false)
  })

  test('is bad while it is slow, for itself only', () => {
    const health = new TopicHealth({ slowMs: 100 })
    health.ran(1, { durationMs: 10_000, failed: false })
    health.ran(2, GOOD)

    expect(health.isTroubled(1)).toBe(true)
    expect(health.isTroubled(2)).toBe(false)
  })
})
