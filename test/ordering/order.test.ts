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
    [{ mode: 'none' }],
  ])('is accepted: %o', (order) => {
    expect(() => register({ types: '*', order })).not.toThrow()
  })

  test.each([
    ['fifo', /order must be an order/],
    [{ mode: 'lifo', lane }, /order\.mode must be one of/],
    [{ mode: 'none', lane }, /unknown option "lane"/],
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

  test('handlers that have it from their source may share an event, also with one of its own', () => {
    const fifo = { mode: 'fifo', lane } as const
    const latest = { mode: 'latest', lane } as const
    const registry = new HandlerRegistry(new Set(['stripe', 'github']), {
      defaults: { order: { stripe: fifo } },
    })
    registry.add('stripe', '*', { name: 'all' }, () => undefined)
    registry.addSteps('stripe', 'invoice.*', {}, () => undefined)
    registry.add('stripe', 'invoice.paid', { order: latest }, () => undefined)
    registry.add('github', 'push', {}, () => undefined)

    const modes = ['invoice.made', 'invoice.paid'].map(
      (type) => registry.findUnit('stripe', type)?.order?.mode,
    )
    expect(modes).toEqual(['fifo', 'latest'])
    expect(registry.findUnit('github', 'push')?.order).toBeUndefined()
  })

  test('an event that others wait for waits for no other of its type', () => {
    const order = { mode: 'after', lane, requires: 'made', waitMs: 1, onMissing: 'run' } as const
    const registry = new HandlerRegistry(new Set(['stripe', 'github']), {
      defaults: { order: { stripe: order } },
    })
    registry.add('stripe', '*', {}, () => undefined)
    registry.add('stripe', 'made', {}, () => undefined)
    registry.add('github', '*', { order }, () => undefined)

    for (const source of ['stripe', 'github']) {
      expect(registry.findUnit(source, 'made')?.order).toBeUndefined()
      expect(registry.findUnit(source, 'made')?.awaitedBy).toHaveLength(1)
      expect(registry.findUnit(source, 'changed')?.order?.mode).toBe('after')
    }
  })

  test('a handler that needs none has none, and an event of another handler as well keeps it', () => {
    const registry = new HandlerRegistry(new Set(['stripe']), {
      defaults: { order: { stripe: { mode: 'fifo', lane } } },
    })
    registry.add('stripe', 'a', { order: { mode: 'none' } }, () => undefined)
    registry.add('stripe', 'b', { order: { mode: 'none' }, name: 'without' }, () => undefined)
    registry.add('stripe', 'b', { name: 'with' }, () => undefined)

    expect(registry.findUnit('stripe', 'a')?.order).toBeUndefined()
    expect(registry.findUnit('stripe', 'b')?.order?.mode).toBe('fifo')
  })

  test.each([
    [{ stripe: { mode: 'none' } }, /handlerDefaults\.order\.stripe\.mode must be one of/],
    [{ stripe: { mode: 'fifo' } }, /handlerDefaults\.order\.stripe\.lane must be a function/],
    [{ strip: { mode: 'fifo', lane } }, /no source "strip"/],
    ['fifo', /handlerDefaults\.order must be an object/],
  ])('for a source is refused with what is wrong: %o', (order, expected) => {
    const create = () => new HandlerRegistry(new Set(['stripe']), { defaults: { order } as never })

    expect(create).toThrow(expected)
  })
})
