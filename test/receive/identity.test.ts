import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { digestOfParts as digest } from '../../src/model/digest.ts'

describe('the identity of an event', () => {
  test('R20: source "a:b" with id "c" and source "a" with id "b:c" are two events', () => {
    expect(digest('key', 'a:b', 'c')).not.toBe(digest('key', 'a', 'b:c'))
    expect(digest('a', 'bc')).not.toBe(digest('ab', 'c'))
    expect(digest('a', '')).not.toBe(digest('a'))
  })

  test('an id that contains what separates parts is not two parts', () => {
    expect(digest('a\u0000\u0000\u0000\u0000\u0000b')).not.toBe(digest('a', 'b'))
    expect(digest('a1:b')).not.toBe(digest('a', 'b'))
  })

  test('ids that UTF-8 cannot tell apart are two events', () => {
    expect(digest('\ud800')).not.toBe(digest('\ud801'))
    expect(digest('\ud800')).not.toBe(digest('\ufffd'))
    expect(digest('\ud800')).not.toBe(digest('"\\ud800"'))
  })

  test('two lists of parts share a hash only when they are equal', () => {
    const parts = fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 })
    fc.assert(
      fc.property(parts, parts, (left, right) => {
        expect(digest(...left) === digest(...right)).toBe(
          JSON.stringify(left) === JSON.stringify(right),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('R28: the same parts give the same hash every time', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (parts) => {
        expect(digest(...parts)).toBe(digest(...parts))
      }),
    )
  })
})
