import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashParts } from '../../src/receive/identity.ts'

const hex = (...parts: (string | Uint8Array)[]) => hashParts(...parts).toString('hex')

describe('the identity of an event', () => {
  test('R20: source "a:b" with id "c" and source "a" with id "b:c" are two events', () => {
    expect(hex('key', 'a:b', 'c')).not.toBe(hex('key', 'a', 'b:c'))
    expect(hex('a', 'bc')).not.toBe(hex('ab', 'c'))
    expect(hex('a', '')).not.toBe(hex('a'))
  })

  test('an id that contains what separates parts is not two parts', () => {
    expect(hex('a\u0000\u0000\u0000\u0000\u0000b')).not.toBe(hex('a', 'b'))
  })

  test('ids that UTF-8 cannot tell apart are two events', () => {
    expect(hex('\ud800')).not.toBe(hex('\ud801'))
    expect(hex('\ud800')).not.toBe(hex('\ufffd'))
  })

  test('two lists of parts share a hash only when they are equal', () => {
    const parts = fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 })
    fc.assert(
      fc.property(parts, parts, (left, right) => {
        expect(hex(...left) === hex(...right)).toBe(JSON.stringify(left) === JSON.stringify(right))
      }),
      { numRuns: 500 },
    )
  })

  test('R28: the same parts give the same hash every time', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (parts) => {
        expect(hex(...parts)).toBe(hex(...parts))
      }),
    )
  })
})
