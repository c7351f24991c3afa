import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findOrderText, findOrderValue } from '../../src/model/order-text.ts'

describe('the text of a place in an order', () => {
  test.each([
    [7, 'n017', '7'],
    ['007.50', 'n017.5', '7.5'],
    ['0', 'n010', '0'],
    [Number.MAX_SAFE_INTEGER + 1, 'n169007199254740992', '9007199254740992'],
    ['18446744073709551616', 'n2018446744073709551616', '18446744073709551616'],
    ['1759999999.000506', 'n101759999999.000506', '1759999999.000506'],
    ['2025-10-09T10:53:20+02:00', 't2025-10-09T08:53:20', '2025-10-09T08:53:20Z'],
    ['2025-10-09T08:53:20.120000000Z', 't2025-10-09T08:53:20.12', '2025-10-09T08:53:20.12Z'],
    ['2025-10-09 08:53:20 UTC', 't2025-10-09T08:53:20', '2025-10-09T08:53:20Z'],
    ['2025-10-09T08:53:20', 't2025-10-09T08:53:20', '2025-10-09T08:53:20Z'],
    ['2025-10-09T10:53:20.000+0200', 't2025-10-09T08:53:20', '2025-10-09T08:53:20Z'],
    [new Date('2025-10-09T08:53:20.120Z'), 't2025-10-09T08:53:20.12', '2025-10-09T08:53:20.12Z'],
    ['rev-b', 'xrev-b', 'rev-b'],
    ['-5', 'x-5', '-5'],
    ['2025-13-45T99:99:99Z', 'x2025-13-45T99:99:99Z', '2025-13-45T99:99:99Z'],
    ['0000-01-01T00:00:00+10:00', 'x0000-01-01T00:00:00+10:00', '0000-01-01T00:00:00+10:00'],
    ['a\0b', 'xa\ufffdb', 'a\ufffdb'],
  ])('of %j is %s, and is read as %s', (value, text, read) => {
    expect(findOrderText(value)).toBe(text)
    expect(findOrderValue(text)).toBe(read)
  })

  test.each([undefined, '', NaN, Infinity, new Date(NaN), '9'.repeat(100), 'x'.repeat(100)])(
    'of %s is none',
    (value) => {
      expect(findOrderText(value)).toBeUndefined()
    },
  )

  test('sorts whole numbers of any size as they sort', () => {
    const numbers = fc.bigInt({ min: 0n, max: 10n ** 99n - 1n })
    fc.assert(
      fc.property(numbers, numbers, (left, right) => {
        expect(compare(String(left), String(right))).toBe(
          Math.sign(Number(left > right) - Number(left < right)),
        )
      }),
      { numRuns: 1_000 },
    )
  })

  test('sorts numbers with a fraction as they sort', () => {
    const cents = fc.integer({ min: 0, max: 100_000 })
    fc.assert(
      fc.property(cents, cents, (left, right) => {
        expect(compare((left / 100).toFixed(2), (right / 100).toFixed(2))).toBe(
          Math.sign(left - right),
        )
      }),
      { numRuns: 1_000 },
    )
  })

  test('sorts times as they sort, whatever their zone and however fine', () => {
    const instant = fc.record({
      ms: fc.integer({ min: 0, max: 253_000_000_000_000 }),
      nanoseconds: fc.integer({ min: 0, max: 999_999 }),
      offsetMinutes: fc.integer({ min: -840, max: 840 }),
    })
    fc.assert(
      fc.property(instant, instant, (left, right) => {
        const order =
          Math.sign(left.ms - right.ms) || Math.sign(left.nanoseconds - right.nanoseconds)
        expect(compare(write(left), write(right))).toBe(order)
      }),
      { numRuns: 1_000 },
    )
  })

  test('is made of any text without a throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 120 }), (text) => {
        expect(findOrderText(text)?.length ?? 0).toBeLessThan(110)
      }),
    )
  })
})

/** As a database does it: byte by byte. */
function compare(left: string, right: string): number {
  const [one, other] = [left, right].map((value) => Buffer.from(findOrderText(value) ?? ''))
  return Buffer.compare(one!, other!)
}

interface Instant {
  readonly ms: number
  readonly nanoseconds: number
  readonly offsetMinutes: number
}

function write({ ms, nanoseconds, offsetMinutes }: Instant): string {
  const local = new Date(ms + offsetMinutes * 60_000).toISOString().slice(0, -1)
  const minutes = Math.abs(offsetMinutes)
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((n) =>
    String(n).padStart(2, '0'),
  )
  const fine = String(nanoseconds).padStart(6, '0')
  return `${local}${fine}${offsetMinutes < 0 ? '-' : '+'}${hour}:${minute}`
}
