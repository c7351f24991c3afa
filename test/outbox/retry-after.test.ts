import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRetryAfter } from '../../src/outbox/retry-after.ts'

const NOW = Date.parse('2026-11-15T12:00:00Z')

test.each([
  ['5', 5_000],
  [' 5 ', 5_000],
  ['0', 0],
  ['1000000000000', 3_600_000],
  ['Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
  ['Sun, 15 Nov 2026 11:00:00 GMT', 0],
  ['Mon, 15 Nov 2027 12:00:00 GMT', 3_600_000],
  ['-1', undefined],
  ['1.5', undefined],
  ['0x10', undefined],
  ['1e3', undefined],
  ['', undefined],
  ['soon', undefined],
  ['2026-11-15', undefined],
  ['Sun, 99 Nov 2026 12:00:00 GMT', undefined],
  ['9'.repeat(400), undefined],
])('X08: Retry-After: %s asks for %s ms', (value, expected) => {
  expect(parseRetryAfter(value, undefined, NOW)).toBe(expected)
})

test('a date is taken against the clock of the server that sent it', () => {
  const ours = NOW - 3_600_000

  expect(
    parseRetryAfter('Sun, 15 Nov 2026 12:00:30 GMT', 'Sun, 15 Nov 2026 12:00:00 GMT', ours),
  ).toBe(30_000)
})

test('whatever it says, it is a time from none to an hour, or nothing', () => {
  fc.assert(
    fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (value, date) => {
      const ms = parseRetryAfter(value, date)
      return ms === undefined || (ms >= 0 && ms <= 3_600_000)
    }),
    { numRuns: 5_000 },
  )
})
