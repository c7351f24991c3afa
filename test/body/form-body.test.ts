import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findFormField, findFormFields, renderSortedForm } from '../../src/body/form-body.ts'

const piece = fc.constantFrom(
  'a',
  'b',
  '=',
  '&',
  '%',
  '%4',
  '%41',
  '%e4%b8%ad',
  '+',
  '中',
  ' ',
  '?',
)
const form = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''))

/**
 * What `URLSearchParams` reads. It takes a `?` in front for the beginning of a query, which a body has none of.
 * Node 20 reads `中` as `-` where a `%` stands by itself in the same text, so letters are escaped for it.
 */
function fieldsOf(text: string): [string, string][] {
  const escaped = text.replaceAll('中', encodeURIComponent('中'))
  return [...new URLSearchParams(escaped.startsWith('?') ? `&${escaped}` : escaped)]
}

describe('a form', () => {
  test('has the fields that a URL would have', () => {
    fc.assert(
      fc.property(form, (text) => {
        expect(findFormFields(Buffer.from(text))).toEqual(fieldsOf(text))
      }),
      { numRuns: 5_000 },
    )
  })

  test('is sorted by names and values, each pair once', () => {
    fc.assert(
      fc.property(form, (text) => {
        const pairs = new Map<string, Set<string>>()
        for (const [name, value] of fieldsOf(text)) {
          pairs.set(name, (pairs.get(name) ?? new Set()).add(value))
        }
        const sorted = [...pairs.keys()]
          .sort()
          .flatMap((name) => [...(pairs.get(name) ?? [])].sort().map((value) => name + value))
          .join('')
        const isText = !sorted.includes('\ufffd')
        expect(renderSortedForm(Buffer.from(text))?.toString()).toBe(isText ? sorted : undefined)
      }),
      { numRuns: 5_000 },
    )
  })

  test('whose names or values are no text is not sorted', () => {
    expect(renderSortedForm(Buffer.from('%ff=a'))).toBeUndefined()
    expect(renderSortedForm(Buffer.from('a=%ff'))).toBeUndefined()
    expect(renderSortedForm(Buffer.from([0x61, 0x3d, 0xff]))).toBeUndefined()
  })

  test('R64: with more fields than any sender has is none, be they empty', () => {
    expect(findFormFields(Buffer.from('a=b&'.repeat(1_000)))).toHaveLength(1_000)
    expect(findFormFields(Buffer.from('a=b&'.repeat(1_001)))).toBeUndefined()
    expect(findFormFields(Buffer.from('&'.repeat(1_001)))).toBeUndefined()
    expect(findFormField(Buffer.from(`a=b${'&'.repeat(2_000)}`), 'a')).toBeUndefined()
  })

  test('R64: with longer names than any sender has is none', () => {
    expect(findFormFields(Buffer.from(`${'n'.repeat(131_073)}=1`))).toBeUndefined()
  })

  test('R64: is not sorted where much of it has one name', () => {
    const value = 'x'.repeat(40_000)

    expect(renderSortedForm(Buffer.from(`a=${value}&b=${value}`))).toHaveLength(80_002)
    expect(renderSortedForm(Buffer.from(`a=${value}1&a=${value}2`))).toBeUndefined()
  })
})
