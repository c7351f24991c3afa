import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classifyAddress } from '../../src/egress/classify-address.ts'
import { parseAddress } from '../../src/egress/parse-address.ts'
import { ADDRESSES } from './addresses.ts'

describe('an address', () => {
  test('is classified as the registries have it, 400 times and more', () => {
    const table = Object.entries(ADDRESSES).flatMap(([kind, list]) =>
      list.map((address) => ({ address, kind })),
    )

    const wrong = table
      .map(({ address, kind }) => ({ address, kind, found: classify(address) }))
      .filter(({ kind, found }) => kind !== found)

    expect(wrong).toEqual([])
    expect(table.length).toBeGreaterThan(400)
  })

  test('that is carried by another is the same, whatever it is', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), (octets) => {
        const address = octets.join('.')
        const [high, low] = [0, 2].map((at) =>
          (((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0)).toString(16),
        )
        const kind = classify(address)

        expect(classify(`::ffff:${address}`)).toBe(kind)
        expect(classify(`64:ff9b::${high}:${low}`)).toBe(kind)
        if (kind !== 'public') expect(classify(`2002:${high}:${low}::1`)).toBe(kind)
        expect(classify(`2002:${high}:${low}::1`)).not.toBe('public')
      }),
      { numRuns: 2_000 },
    )
  })

  test('is classified whatever the text is, without an exception', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.ipV4Extended()), (text) => {
        expect(Object.keys(ADDRESSES)).toContain(classify(text))
      }),
      { numRuns: 2_000 },
    )
  })
})

/** As a connection is checked: what is no address is malformed. */
function classify(text: string): string {
  const bytes = parseAddress(text)
  return bytes === undefined ? 'malformed' : classifyAddress(bytes)
}
