import { describe, expect, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { stripe } from '../../src/providers/vendors/stripe.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { HandlerRegistry } from '../../src/work/handler-registry.ts'
import type { HandlerOptions } from '../../src/work/handler-options.ts'

function registry(): HandlerRegistry {
  return new HandlerRegistry(new Set(['stripe', 'github']))
}

describe('the handler registry', () => {
  test.each([
    ['invoice.paid', 'invoice.paid', true],
    ['invoice.paid', 'invoice.paid.twice', false],
    ['invoice.*', 'invoice.paid', true],
    ['invoice.*', 'invoice.line.added', true],
    ['invoice.*', 'invoices.paid', false],
    ['*.deleted', 'customer.deleted', true],
    ['*.deleted', 'customer.deleted.not', false],
    ['a*b*c', 'a-b-c', true],
    ['a*b*c', 'ac', false],
    ['a*b*c', 'a-c-b', false],
    ['aa*aa', 'aaa', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['a.c', 'abc', false],
  ])('%s matches %s: %s', (pattern, type, isMatch) => {
    const handlers = registry()
    handlers.add('stripe', pattern, {}, () => undefined)

    expect(handlers.findUnit('stripe', type) !== undefined).toBe(isMatch)
    expect(handlers.findUnit('github', type)).toBeUndefined()
  })

  test('the strictest of several handlers decides for the unit', () => {
    const handlers = registry()
    handlers.add(
      'stripe',
      'a',
      { timeoutMs: 100, groupMax: 10, retry: { attemptsMax: 5 } },
      () => 1,
    )
    handlers.add('stripe', '*', { timeoutMs: 200, guarantee: 'at-least-once' }, () => 2)

    expect(handlers.findUnit('stripe', 'a')).toMatchObject({
      guarantee: 'exactly-once',
      attemptsMax: 5,
      timeoutMs: 300,
      groupMax: 10,
    })
    expect(handlers.findUnit('stripe', 'b')).toMatchObject({ guarantee: 'at-least-once' })
  })

  test('what a handler does not say is what its inbox says', () => {
    const handlers = new HandlerRegistry(new Set(['stripe']), {
      defaults: { retry: { attemptsMax: 3, firstMs: 7 }, timeoutMs: 100, stepsTimeoutMs: 900 },
    })
    handlers.add('stripe', 'a', {}, () => 1)
    handlers.add('stripe', 'b', { timeoutMs: 50, retry: { attemptsMax: 5 } }, () => 1)
    handlers.addSteps('stripe', 'c', {}, () => 1)
    const only = (type: string) => handlers.findUnit('stripe', type)?.handlers[0]

    expect(only('a')).toMatchObject({ timeoutMs: 100, retry: { attemptsMax: 3, firstMs: 7 } })
    expect(only('b')).toMatchObject({ timeoutMs: 50, retry: { attemptsMax: 5, firstMs: 7 } })
    expect(only('c')).toMatchObject({ timeoutMs: 900, retry: { attemptsMax: 3, firstMs: 7 } })
  })

  test.each([
    [{ timeout: 5 }, 'createInbox.handlerDefaults.timeout'],
    [{ timeoutMs: 0 }, 'createInbox.handlerDefaults.timeoutMs'],
    [{ retry: { attempts: 5 } }, 'retry.attempts'],
  ])('defaults that cannot be used are refused: %o', (handlerDefaults, option) => {
    const create = () =>
      createInbox({
        store: sqliteStore('never-opened.db'),
        sources: { stripe: stripe({ secrets: ['whsec_test_secret_of_some_length'] }) },
        handlerDefaults: handlerDefaults as never,
      })

    expect(create).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', option }))
  })

  test('a handler added later is found for a type that was looked up before', () => {
    const handlers = registry()
    expect(handlers.findUnit('stripe', 'a')).toBeUndefined()

    handlers.add('stripe', 'a', {}, () => undefined)

    expect(handlers.findUnit('stripe', 'a')).toBeDefined()
  })

  test('two handlers of a source with the same types need names', () => {
    const handlers = registry()
    handlers.add('stripe', 'a', {}, () => undefined)

    expect(() => handlers.add('stripe', 'a', {}, () => undefined)).toThrow(/idempotency keys/)
    handlers.add('stripe', 'a', { name: 'second' }, () => undefined)
    handlers.add('github', 'a', {}, () => undefined)
    expect(handlers.findUnit('stripe', 'a')?.handlers).toHaveLength(2)
  })

  test('an unknown source is refused with the known ones', () => {
    expect(() => registry().add('strip', 'a', {}, () => undefined)).toThrow(
      expect.objectContaining({
        code: 'SOURCE_UNKNOWN',
        message: expect.stringContaining('stripe, github') as string,
      }),
    )
  })

  test.each<[HandlerOptions | object, string]>([
    [{ timeout: 5 }, 'on("stripe", …).timeout'],
    [{ timeoutMs: 0 }, 'on("stripe", …).timeoutMs'],
    [{ groupMax: 2_000 }, 'on("stripe", …).groupMax'],
    [{ guarantee: 'once' }, 'on("stripe", …).guarantee'],
    [{ schema: {} }, 'on("stripe", …).schema'],
    [{ schema: null }, 'on("stripe", …).schema'],
    [{ name: '' }, 'on("stripe", …).name'],
    [{ name: 5 }, 'on("stripe", …).name'],
    [{ retry: { attemptsMax: 'many' } }, 'retry.attemptsMax'],
    [{ retry: { factor: '3' } }, 'retry.factor'],
    [{ retry: 5 }, 'retry'],
  ])('%j is refused by name', (options, option) => {
    expect(() => registry().add('stripe', 'a', options, () => undefined)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option }),
    )
  })

  test.each<[string, readonly unknown[], string]>([
    ['no handler', [], 'on("stripe", …).handler'],
    ['options that are nothing', [undefined, () => 1], 'on("stripe", …)'],
    ['options that are null', [null, () => 1], 'on("stripe", …)'],
    ['options behind the handler', [() => 1, { groupMax: 1 }], 'on("stripe", …)'],
    ['a handler that is none', [{ groupMax: 1 }, 'run'], 'on("stripe", …).handler'],
  ])('%s: refused by name', (_what, rest, option) => {
    const inbox = createInbox({
      store: sqliteStore('never-opened.db'),
      sources: { stripe: stripe({ secrets: ['whsec_test_secret_of_some_length'] }) },
    })
    const on = inbox.on.bind(inbox) as (...given: readonly unknown[]) => unknown

    expect(() => on('stripe', 'a', ...rest)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option }),
    )
  })

  test.each([[''], [[]], [['a', '']]])('the types %j are refused', (types) => {
    expect(() => registry().add('stripe', types, {}, () => undefined)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })
})
