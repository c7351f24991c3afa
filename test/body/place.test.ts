import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { JsonBody } from '../../src/body/json-body.ts'
import { findJsonPattern, Reading } from '../../src/body/json-path.ts'
import { EVERY } from '../../src/body/json-tokens.ts'
import { compilePlace } from '../../src/body/place.ts'
import type { Place } from '../../src/body/place.ts'

function find(place: Place, delivery: Partial<Delivery>): string | undefined {
  const whole = {
    method: 'POST',
    url: '/',
    headers: {},
    body: Buffer.from(''),
    receivedAt: new Date(0),
  }
  return compilePlace('test', place).find(new Reading({ ...whole, ...delivery }))
}
const json = (value: unknown): Partial<Delivery> => ({ body: Buffer.from(JSON.stringify(value)) })

describe('a place', () => {
  test.each<[string, Place, Partial<Delivery>, string | undefined]>([
    ['a field of a form', 'form:a', { body: Buffer.from('a=x+y%21') }, 'x y!'],
    ['a field that came twice', 'form:a', { body: Buffer.from('a=1&a=2') }, undefined],
    ['a parameter', 'query:hub.mode', { url: '/x?hub.mode=s' }, 's'],
    ['a parameter that came twice', 'query:a', { url: '/x?a=1&a=2' }, undefined],
    ['the first that is there', ['json:$.a', 'json:$.b'], json({ b: 1 }), '1'],
    ['all of some', { all: ['json:$.a', 'json:$.b'] }, json({ a: 'x', b: 'y' }), 'x|y'],
    ['all of some, one missing', { all: ['json:$.a', 'json:$.b'] }, json({ a: 'x' }), undefined],
    ['an optional part', { all: ['json:$.a', { optional: 'json:$.b' }] }, json({ a: 'x' }), 'x|'],
    ['nothing but optional parts', { all: [{ optional: 'json:$.b' }] }, json({}), undefined],
    ['parts side by side', { join: ['json:$.a', 'json:$.b'], with: '.' }, json({ b: 'y' }), 'y'],
    ['code that finds nothing', () => '', json({}), undefined],
  ])('finds %s', (_name, place, delivery, expected) => {
    expect(find(place, delivery)).toBe(expected)
  })

  test('never reads two lists of parts as one', () => {
    const part = fc.string({
      minLength: 1,
      unit: fc.constantFrom('a', '|', '%', '7', 'C', '2', '5'),
    })
    fc.assert(
      fc.property(fc.tuple(part, part), fc.tuple(part, part), ([a, b], [c, d]) => {
        const key = (x: string, y: string) =>
          find({ all: ['json:$.x', 'json:$.y'] }, json({ x, y }))
        expect(key(a, b) === key(c, d)).toBe(a === c && b === d)
      }),
    )
  })
})

describe('parts of a body', () => {
  test('are cut from the source text as they stand', () => {
    const body = JsonBody.find(
      Buffer.from('{"e":[ {"n":1.0} ,\r\n{"n":9007199254740993}],"e2":[]}'),
    )
    const slices = body?.listSlices(['e', EVERY]).map((bytes) => Buffer.from(bytes).toString())

    expect(slices).toEqual(['{"n":1.0}', '{"n":9007199254740993}'])
    expect(body?.listSlices(['e', EVERY, 'n']).map(String)).toHaveLength(2)
    expect(body?.listSlices(['e2', EVERY])).toEqual([])
    expect(body?.listSlices(['e', 'x', EVERY])).toEqual([])
  })

  test('are what JSON.parse sees, for any list', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (list) => {
        const body = JsonBody.find(Buffer.from(JSON.stringify({ list })))
        const slices = body?.listSlices(['list', EVERY]) ?? []
        const parsed = slices.map((bytes) => JSON.parse(Buffer.from(bytes).toString()) as unknown)
        expect(parsed).toEqual(JSON.parse(JSON.stringify(list)))
      }),
    )
  })

  test('are cut no further than they are asked for', () => {
    const bytes = Buffer.from('{"e":[{"n":1},{"n":2},{"n":3}]}')
    const slices = JsonBody.find(bytes)?.walkSlices(['e', EVERY, 'n'])

    const first = slices?.next().value
    // A walk that had gone on by now would know of all three.
    bytes.fill(' ', bytes.indexOf(',{"n":2}'), bytes.indexOf(']'))

    expect(String(first)).toBe('1')
    expect([...(slices ?? [])]).toEqual([])
  })

  test('can be left out at any depth, and once where they overlap', () => {
    const body = JsonBody.find(Buffer.from('{"a":{"t":1,"k":2},"l":[{"t":3},{"t":4}]}'))
    const without = (...paths: readonly string[]) =>
      Buffer.from(
        body?.findBytesWithout(paths.map((path) => findJsonPattern(path) ?? [])) ?? [],
      ).toString()

    expect(without('$.a.t')).toBe('{"a":{"t":,"k":2},"l":[{"t":3},{"t":4}]}')
    expect(without('$.l[*].t')).toBe('{"a":{"t":1,"k":2},"l":[{"t":},{"t":}]}')
    expect(without('$.a', '$.a.t')).toBe('{"a":,"l":[{"t":3},{"t":4}]}')
  })
})
