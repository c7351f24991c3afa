import { describe, expect, test } from 'vitest'
import { diffBodies } from '../../src/admin/diff-bodies.ts'

const bytes = (value: unknown) =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))

describe('the difference between a conflict and the first event', () => {
  test('is told by path: what was added, removed and changed', () => {
    const first = { id: 'evt_1', data: { amount: 1, gone: null, items: [1, 2] } }
    const second = { id: 'evt_1', data: { amount: 2, items: [1, { n: 2 }, 3], 'a b': 'x' } }

    expect(diffBodies(bytes(first), bytes(second))).toEqual({
      kind: 'json',
      isCut: false,
      differences: [
        { path: '$.data.amount', change: 'changed', before: '1', after: '2' },
        { path: '$.data.gone', change: 'removed', before: 'null' },
        { path: '$.data.items[1]', change: 'changed', before: '2', after: 'an object with 1 keys' },
        { path: '$.data.items[2]', change: 'added', after: '3' },
        { path: '$.data["a b"]', change: 'added', after: '"x"' },
      ],
    })
  })

  test('is none where only the writing differs', () => {
    const diff = diffBodies(bytes('{"a":1,"b":[2]}'), bytes(' { "b": [2], "a": 1.0 } '))

    expect(diff).toEqual({ kind: 'json', isCut: false, differences: [] })
  })

  test('is told of numbers that JavaScript makes one of', () => {
    const first = '{"id":9007199254740992,"rate":0.1234567890123456789,"huge":1e400,"text":"1e400"}'
    const second =
      '{"id":9007199254740993,"rate":0.1234567890123456788,"huge":1e401,"text":"1e400"}'

    expect(diffBodies(bytes(first), bytes(second))).toEqual({
      kind: 'json',
      isCut: false,
      differences: [
        { path: '$.id', change: 'changed', before: '9007199254740992', after: '9007199254740993' },
        {
          path: '$.rate',
          change: 'changed',
          before: '0.1234567890123456789',
          after: '0.1234567890123456788',
        },
        { path: '$.huge', change: 'changed', before: '1e400', after: '1e401' },
      ],
    })
  })

  test.each([
    ['no JSON', bytes('a=1&b=2'), bytes('a=1&b=3'), { lengths: [7, 7], differsAt: 6 }],
    ['no text', new Uint8Array([1, 255]), bytes('{}'), { lengths: [2, 2], differsAt: 0 }],
    ['equal', bytes('a'), bytes('a'), { lengths: [1, 1], differsAt: undefined }],
    ['longer', bytes('a'), bytes('ab'), { lengths: [1, 2], differsAt: 1 }],
  ])('is told in bytes where it is %s', (_, first, second, expected) => {
    expect(diffBodies(first, second)).toEqual({ kind: 'bytes', ...expected })
  })

  test('takes a key such as __proto__ for a key', () => {
    const diff = diffBodies(bytes('{"__proto__":1,"constructor":1}'), bytes('{"__proto__":2}'))

    expect(diff).toMatchObject({
      differences: [
        { path: '$.__proto__', change: 'changed', before: '1', after: '2' },
        { path: '$.constructor', change: 'removed' },
      ],
    })
  })

  test.each([
    [
      'depth',
      `${'['.repeat(5_000)}1${']'.repeat(5_000)}`,
      `${'['.repeat(5_000)}2${']'.repeat(5_000)}`,
    ],
    ['differences', { list: Array(50_000).fill(1) }, { list: Array(50_000).fill(2) }],
    ['values', Array(400_000).fill(1), [...Array(399_999).fill(1), 2]],
    ['length of text', { [`k${'x'.repeat(9_000)}`]: 'y'.repeat(9_000) }, {}],
  ])('has an end on hostile input: %s', (_, first, second) => {
    const diff = diffBodies(bytes(first), bytes(second))

    expect(JSON.stringify(diff).length).toBeLessThan(60_000)
    if (diff.kind === 'json') {
      expect(diff.differences.length).toBeLessThanOrEqual(100)
      expect(diff.isCut || diff.differences.length === 1).toBe(true)
    }
  })
})
