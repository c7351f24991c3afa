import { describe, expect, test } from 'vitest'
import { findErrorPattern } from '../../src/admin/error-pattern.ts'

const patternOf = (message: string): string =>
  findErrorPattern({ reason: 'error', handler: 'pay', message }).pattern

describe('the pattern of an error', () => {
  test.each([
    ['numbers', 'Error: 17 of 20 failed after 1.5 s', 'Error: … of … failed after … s'],
    ['ids', 'Error: no such customer cus_9fX2 (req_A1)', 'Error: no such customer … (…)'],
    ['uuids', 'Error: row 018f2a4e-7c11-7b3a-9d2e-0123456789ab is gone', 'Error: row … is gone'],
    ['hexadecimal', 'Error: got 0xdeadbeef01', 'Error: got …'],
    ['what is in quotes', `Error: key "a b" of 'x y' and \`z\``, 'Error: key "…" of \'…\' and `…`'],
    ['an address', 'connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED …'],
    ['white space', 'Error: a\n\t b', 'Error: a b'],
  ])('masks %s', (_, message, pattern) => {
    expect(patternOf(message)).toBe(pattern)
  })

  test('keeps the words that tell one error from another', () => {
    expect(patternOf("TypeError: can't read it's name")).toBe("TypeError: can't read it's name")
    expect(patternOf('CardError: declined')).not.toBe(patternOf('CardError: expired'))
  })

  test('is the same for errors that differ in their values only', () => {
    const one = findErrorPattern({ reason: 'error', handler: 'pay', message: 'Error: order 7' })
    const other = findErrorPattern({ reason: 'error', handler: 'pay', message: 'Error: order 81' })

    expect(one).toEqual(other)
    expect(one.groupId).toMatch(/^[0-9a-f]{16}$/)
  })

  test('differs by reason, by handler and by where one of them ends', () => {
    const message = 'Error: order 7'
    const all = [
      { reason: 'error', handler: 'pay', message },
      { reason: 'timeout', handler: 'pay', message },
      { reason: 'error', handler: undefined, message },
      { reason: 'error', handler: 'payE', message: 'rror: order 7' },
    ].map((texts) => findErrorPattern(texts).groupId)

    expect(new Set(all).size).toBe(4)
  })

  test('takes any text', () => {
    for (const message of ['', '\u0000', '\ud800', '"', "'''", '…', '😀'.repeat(600)])
      expect(patternOf(message).isWellFormed()).toBe(true)
  })

  test.each([
    ['quotes', `"`],
    ['apostrophes', `'`],
    ['quotes and apostrophes', `"'`],
    ['letters', 'a'],
    ['digits', '1'],
    ['spaces', ' '],
    ['letters and digits', 'a1_-'],
  ])('costs in proportion to the length of the text: %s', (_, piece) => {
    // A message is cut, so that the cost has an end whatever its length is.
    const short = timeOf(piece.repeat(1_024))
    const long = timeOf(piece.repeat(1_000_000))

    expect(long).toBeLessThan(Math.max(50, short * 20))
  })
})

/** The best of several, in milliseconds for a hundred of them. */
function timeOf(message: string): number {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now()
    for (let n = 0; n < 100; n += 1) patternOf(message)
    return performance.now() - start
  })
  return Math.min(...times)
}
