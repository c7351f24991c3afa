import { describe, expect, test } from 'vitest'
import { findTimestampMs, isInWindow } from '../../src/verify/timestamp.ts'

const NOW_MS = 1_760_000_000_000

describe('a timestamp', () => {
  test.each([
    ['seconds', '1760000000', NOW_MS],
    ['milliseconds', '1760000000000', NOW_MS],
    ['iso', '2025-10-09T08:53:20Z', NOW_MS],
    ['iso', '2025-10-09T10:53:20.000+02:00', NOW_MS],
  ] as const)('in %s is read from %s', (format, text, expected) => {
    expect(findTimestampMs(text, format)).toBe(expected)
  })

  test.each([
    'abc',
    '',
    '0x10',
    '1e3',
    '1700000000junk',
    '-1',
    ' 1760000000',
    '1760000000\n',
    '1.5',
    '9223372036854775808',
    '1760000000,1760000000',
    '１７６０',
  ])('R30: %j is no number of seconds or milliseconds', (text) => {
    expect(findTimestampMs(text, 'seconds')).toBeUndefined()
    expect(findTimestampMs(text, 'milliseconds')).toBeUndefined()
  })

  // A digit more or less is one that was lent by, or to, what is signed beside it.
  test.each([1, 9, 11, 12, 14])('R51: %i digits are neither seconds nor milliseconds', (length) => {
    const text = '17600000000000'.slice(0, length)

    expect(findTimestampMs(text, 'seconds')).toBeUndefined()
    expect(findTimestampMs(text, 'milliseconds')).toBeUndefined()
  })

  test('R30: seconds are no milliseconds, nor the other way round', () => {
    expect(findTimestampMs('1760000000', 'milliseconds')).toBeUndefined()
    expect(findTimestampMs('1760000000000', 'seconds')).toBeUndefined()
  })

  test.each([
    '2025-10-09',
    '2025-10-09T08:53:20',
    '2025-13-09T08:53:20Z',
    'Thu, 09 Oct 2025 08:53:20 GMT',
    '1760000000',
    '',
  ])('%j is no ISO timestamp', (text) => {
    expect(findTimestampMs(text, 'iso')).toBeUndefined()
  })
})

describe('the window', () => {
  const rule = { format: 'seconds', toleranceSeconds: 300 } as const

  test('has two sides, each with its edge inside', () => {
    expect(isInWindow(NOW_MS - 300_000, NOW_MS, rule)).toBe(true)
    expect(isInWindow(NOW_MS - 301_000, NOW_MS, rule)).toBe(false)
    expect(isInWindow(NOW_MS + 300_000, NOW_MS, rule)).toBe(true)
    expect(isInWindow(NOW_MS + 301_000, NOW_MS, rule)).toBe(false)
  })

  test('counts whole seconds for a sender that does', () => {
    expect(isInWindow(NOW_MS - 300_000, NOW_MS + 999, rule)).toBe(true)
    expect(isInWindow(NOW_MS - 300_000, NOW_MS + 999, { ...rule, format: 'milliseconds' })).toBe(
      false,
    )
  })

  test('may be narrower ahead than behind', () => {
    expect(isInWindow(NOW_MS + 1_000, NOW_MS, { ...rule, aheadSeconds: 0 })).toBe(false)
    expect(isInWindow(NOW_MS, NOW_MS, { ...rule, aheadSeconds: 0 })).toBe(true)
  })

  test('holds nothing when either time is not a number', () => {
    expect(isInWindow(Number.NaN, NOW_MS, rule)).toBe(false)
    expect(isInWindow(NOW_MS, Number.NaN, rule)).toBe(false)
  })
})
