import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { patternsMeet } from '../../src/work/patterns-meet.ts'
import { createMatcher } from '../../src/model/type-matcher.ts'

describe('two patterns meet', () => {
  test.each([
    ['a', 'a', true],
    ['a', 'b', false],
    ['*', 'anything', true],
    ['a.*', '*.b', true],
    ['a.*', 'b.*', false],
    ['a*c', 'ab*', true],
    ['a*c', 'ab', false],
    ['**', 'x', true],
  ])('%s and %s: %s', (one, other, expected) => {
    expect(patternsMeet(one, other)).toBe(expected)
    expect(patternsMeet(other, one)).toBe(expected)
  })

  test('whenever a text matches both', () => {
    const texts = (...alphabet: string[]) =>
      fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 5 })
    fc.assert(
      fc.property(
        texts('a', 'b', '*'),
        texts('a', 'b', '*'),
        texts('a', 'b'),
        (one, other, text) => {
          const matchesBoth = createMatcher([one])(text) && createMatcher([other])(text)
          if (matchesBoth) expect(patternsMeet(one, other)).toBe(true)
        },
      ),
    )
  })
})
