import { describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../src/work/handler-context.ts'
import type { StepContext } from '../../src/work/steps/step-context.ts'
import { permanent } from '../../src/model/handler-results.ts'
import { destination } from '../../src/outbox/destination.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

type Trap = () => object

/** Objects that throw when they are looked at, each where something of ours may look. */
const TRAPS: readonly (readonly [string, Trap])[] = [
  ['is a proxy that refuses everything', () => aProxy(Object.getOwnPropertyNames(Reflect))],
  ['does not tell what it is', () => aProxy(['getPrototypeOf'])],
  ['does not tell what it has', () => aProxy(['has', 'ownKeys', 'getOwnPropertyDescriptor'])],
  ['has a message that cannot be read', () => withGetter('message')],
  ['has a code that cannot be read', () => withGetter('code', { severity: 'ERROR' })],
  ['has a severity that cannot be read', () => withGetter('severity', { code: '40001' })],
  ['has a cause that cannot be read', () => withGetter('cause')],
  ['has a toJSON that cannot be read', () => withGetter('toJSON')],
  ['has a then that cannot be read', () => withGetter('then')],
]

const ONCE = { retry: { attemptsMax: 1 }, timeoutMs: 300_000 } as const

/** That objects which cannot be read end a handler at once, and nothing else. Run by `test/inbox/<store>.test.ts`. */
export function trappingObjectsContract(store: StoreUnderTest): void {
  describe.each(TRAPS)(`${store.name}: what %s`, (_, trap) => {
    test.each<[string, (context: HandlerContext<QueryTx>) => unknown]>([
      ['thrown', () => raise(trap())],
      ['thrown as the cause of an error', () => raise(new Error('outer', { cause: trap() }))],
      ['the reason of permanent', () => raise(permanent(trap() as unknown as string))],
      ['sent', async ({ send }) => send('sink', { it: trap() })],
      ['the options of a message', async ({ send }) => send('sink', {}, trap())],
      ['a statement', async ({ tx }) => tx.query(trap() as unknown as string)],
      ['a value of a statement', async ({ tx }) => tx.query(WRITE, ['a', trap()])],
      ['a value of a write', ({ tx }) => tx.write(WRITE, ['a', trap()])],
    ])('H42: %s in a handler fails its attempt at once', async (_door, run) => {
      const { inbox, deliver, next, countEffects } = await openInbox(store, {
        destinations: [destination('sink', () => undefined)],
      })
      inbox.on('stripe', 'invoice.paid', ONCE, async ({ key }, context) => {
        if (key === 'evt_bad') {
          await run(context)
          // What can be read after all, and is taken, is a failure as well.
          throw new Error('it could be read')
        }
        await context.tx.query(WRITE, [key, 'ran'])
      })
      await inbox.start()
      const dead = next('event.dead')

      await deliver('evt_bad')

      expect((await dead).reason).not.toBe('')
      const done = next('event.done')
      await deliver('evt_good')
      await done
      expect(await countEffects('evt_good')).toBe(1)
    })

    test.each<[string, (step: StepContext<QueryTx>) => unknown]>([
      ['thrown', () => raise(trap())],
      ['thrown in a step.tx', async (step) => step.tx('write', () => raise(trap()))],
      ['thrown in a step.call', async (step) => step.call('call', () => raise(trap()))],
      ['returned by a step.tx', async (step) => step.tx('write', trap)],
      ['returned by a step.call', async (step) => step.call('call', trap)],
      ['sent', async (step) => step.send('sink', { it: trap() })],
    ])('H42: %s in a step handler fails its attempt at once', async (_door, run) => {
      const { inbox, deliver, next } = await openInbox(store, {
        destinations: [destination('sink', () => undefined)],
      })
      inbox.steps('stripe', '*', ONCE, async ({ key }, step) => {
        if (key !== 'evt_bad') return
        await run(step)
        throw new Error('it could be read')
      })
      await inbox.start()
      const dead = next('event.dead')

      await deliver('evt_bad')

      expect((await dead).reason).not.toBe('')
      const done = next('event.done')
      await deliver('evt_good')
      await done
    })

    test('H42: thrown in a group fails one event, and its neighbours are done', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store, {
        worker: { concurrency: 1 },
      })
      const keys = Array.from({ length: 10 }, (_each, n) => `evt_${n}`)
      for (const key of keys) await deliver(key)
      inbox.on('stripe', '*', ONCE, async ({ key }, { tx }) => {
        await tx.query(WRITE, [key, 'ran'])
        if (key === 'evt_5') raise(trap())
      })
      let done = 0
      inbox.events.on('event.done', () => (done += 1))
      const dead = next('event.dead')
      const last = next('event.done', () => done === 9)

      await inbox.start()
      await Promise.all([dead, last])

      expect(await countEffects()).toBe(9)
      expect(await countEffects('evt_5')).toBe(0)
    })

    test('H42: thrown by a destination leaves its message to be sent again', async () => {
      let tries = 0
      const sink = destination('sink', { retry: { firstMs: 0 } }, () => {
        tries += 1
        if (tries === 1) raise(trap())
      })
      const { inbox, deliver, next } = await openInbox(store, { destinations: [sink], relay: {} })
      inbox.on('stripe', '*', async (_event, { send }) => {
        await send('sink', {})
      })
      await inbox.start()
      const sent = next('message.sent')

      await deliver('evt_1')
      await sent

      expect(tries).toBe(2)
    })
  })

  test(`${store.name}: H42: a step's result that has no end is refused`, async () => {
    const { inbox, deliverUntil } = await openInbox(store)
    inbox.steps('stripe', '*', ONCE, async (_event, step) => {
      await step.tx('write', () => new Proxy([], { get: endlessList }))
    })
    await inbox.start()

    expect(await deliverUntil('evt_1', 'event.dead')).toMatchObject({
      reason: expect.stringContaining('cannot be kept') as string,
    })
  })
}

const WRITE = 'insert into effects values ($1, $2)'

function raise(thrown: unknown): never {
  throw thrown
}

function refuse(): never {
  throw new Error('not to be looked at')
}

function aProxy(names: readonly string[]): object {
  return new Proxy(new Error('behind a proxy'), Object.fromEntries(names.map((n) => [n, refuse])))
}

function withGetter(name: string, rest: object = {}): object {
  const error = Object.assign(new Error('with a trap'), rest)
  return Object.defineProperty(error, name, { get: refuse, enumerable: true })
}

function endlessList(_list: unknown, name: string | symbol): unknown {
  if (name === 'length') return Number.MAX_SAFE_INTEGER
  return /^\d+$/.test(String(name)) ? 1 : undefined
}
