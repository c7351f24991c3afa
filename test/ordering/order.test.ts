import { describe, expect, test } from 'vitest'
import { HandlerRegistry } from '../../src/work/handler-registry.ts'
import type { HandlerOptions } from '../../src/work/handler-options.ts'

const lane = () => 'lane'

function register(...options: readonly { types: string; order: unknown; name?: string }[]): void {
  const registry = new HandlerRegistry(new Set(['stripe']))
  for (const { types, order, name = types } of options)
    registry.add('stripe', types, { order, name } as HandlerOptions, () => undefined)
}

describe('an order', () => {
  test.each([
    [{ mode: 'fifo', lane }],
    [{ mode: 'fifo', lane, onDead: 'pass' }],
    [{ mode: 'sequence', lane, gapMs: 0, onGap: 'run' }],
    [{ mode: 'sequence', lane, sequence: () => 1, first: 0, gapMs: 5, onGap: 'dead' }],
    [{ mode: 'latest', lane }],
    [{ mode: 'latest', lane, version: () => new Date() }],
    [{ mode: 'after', lane, requires: 'a', waitMs: 0, onMissing: 'run' }],
  ])('is accepted: %o', (order) => {
    expect(() => register({ types: '*', order })).not.toThrow()
  })

  test.each([
    ['fifo', /order must be an order/],
    [{ mode: 'lifo', lane }, /order\.mode must be one of/],
    [{ mode: 'fifo' }, /order\.lane must be a function/],
    [{ mode: 'fifo', lane: 'customer' }, /order\.lane must be a function/],
    [{ mode: 'fifo', lane, onDead: 'skip' }, /order\.onDead/],
    [{ mode: 'fifo', lane, version: () => 1 }, /unknown option "version"/],
    [{ mode: 'sequence', lane, onGap: 'run' }, /order\.gapMs/],
    [{ mode: 'sequence', lane, gapMs: 1 }, /order\.onGap/],
    [{ mode: 'sequence', lane, gapMs: 1, onGap: 'run', first: -1 }, /order\.first/],
    [{ mode: 'latest', lane, version: 7 }, /order\.version must be a function/],
    [{ mode: 'after', lane, requires: 'a.*', waitMs: 1, onMissing: 'run' }, /order\.requires/],
    [{ mode: 'after', lane, requires: 'a', onMissing: 'run' }, /order\.waitMs/],
    [{ mode: 'after', lane, requires: 'a', waitMs: 1, onMissing: 'wait' }, /order\.onMissing/],
  ])('is refused with what is wrong: %o', (order, expected) => {
    expect(() => register({ types: '*', order })).toThrow(expected)
  })

  test('two that an event could have at once are refused, and told apart by their types', () => {
    const order = { mode: 'fifo', lane }

    expect(() =>
      register({ types: 'customer.*', order }, { types: '*.updated', order, name: 'other' }),
    ).toThrow(/the handlers "customer\.\*" and "other" can get the same event/)
    expect(() =>
      register({ types: 'customer.*', order }, { types: 'invoice.*', order }),
    ).not.toThrow()
    expect(() =>
      register({ types: 'customer.*', order }, { types: '*', order: undefined }),
    ).not.toThrow()
  })
})
