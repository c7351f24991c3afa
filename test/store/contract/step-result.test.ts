import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  parseStepResult,
  STEP_RESULT_LENGTH_MAX,
  stringifyStepResult,
} from '../../../src/store/contract/step-result.ts'

describe('the result of a step', () => {
  test('comes back as it was, whatever JSON can hold', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        // JSON has no minus zero, and no handler needs it.
        fc.pre(!JSON.stringify(value).includes('-0') && !hasMinusZero(value))
        expect(parseStepResult(stringifyStepResult('s', value))).toEqual(value)
      }),
    )
  })

  test('is nothing where nothing was returned', () => {
    expect(stringifyStepResult('s', undefined)).toBeUndefined()
    expect(parseStepResult(undefined)).toBeUndefined()
  })

  test('may have properties that are undefined, which are read as such either way', () => {
    expect(parseStepResult(stringifyStepResult('s', { a: 1, b: undefined }))).toEqual({ a: 1 })
  })

  test('may be as long as the limit and no longer', () => {
    const most = 'x'.repeat(STEP_RESULT_LENGTH_MAX - 2)

    expect(stringifyStepResult('s', most)).toHaveLength(STEP_RESULT_LENGTH_MAX)
    expect(() => stringifyStepResult('s', `${most}x`)).toThrow(
      expect.objectContaining({ code: 'RESULT_INVALID' }) as Error,
    )
  })

  test('may hold one object in two places, but not within itself', () => {
    const shared = { a: 1 }
    expect(stringifyStepResult('s', [shared, shared])).toBe('[{"a":1},{"a":1}]')

    const loop: unknown[] = []
    loop.push([loop])
    expect(() => stringifyStepResult('s', loop)).toThrow('result[0][0] is one of the objects')
  })

  test.each([
    [[1, undefined], 'result[1] is undefined'],
    [{ a: { b: 1n } }, 'result.a.b is a bigint'],
    [{ a: Number.POSITIVE_INFINITY }, 'result.a is Infinity'],
    [() => 1, 'result is a function'],
    [{ a: Symbol('s') }, 'result.a is a symbol'],
    [{ at: new Date(0) }, 'result.at is a Date'],
    [Buffer.from('bytes'), 'result is a Buffer'],
    [new Error('no'), 'result is a Error'],
    [new Set([1]), 'result is a Set'],
    [{ toJSON: (): number => 1 }, 'result is a Object'],
  ])('is refused when it is %o', (value, reason) => {
    expect(() => stringifyStepResult('charge', value)).toThrow(
      `The result of step "charge" cannot be kept: ${reason}`,
    )
  })

  test('is refused when it is nested without end, before the stack is', () => {
    let deep: unknown = 1
    for (let i = 0; i < 10_000; i += 1) deep = [deep]

    expect(() => stringifyStepResult('s', deep)).toThrow('nested more than 200 deep')
  })

  test.each([
    [
      'a getter that throws',
      {
        a: {
          get b(): never {
            throw new Error('no')
          },
        },
      },
    ],
    [
      'a proxy that refuses',
      new Proxy(
        {},
        {
          getPrototypeOf: () => {
            throw new Error('no')
          },
        },
      ),
    ],
  ])('H42: is refused when it cannot be read: %s', (_, value) => {
    expect(() => stringifyStepResult('s', value)).toThrow('cannot be kept: it cannot be read')
  })

  test('H42: is refused when it is a list that says that it has no end', () => {
    const endless = new Proxy([] as number[], {
      get: (_, name) => (name === 'length' ? Number.MAX_SAFE_INTEGER : 1),
    })

    expect(() => stringifyStepResult('s', endless)).toThrow('characters of JSON')
  })
})

function hasMinusZero(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasMinusZero)
  return Object.is(value, -0)
}
