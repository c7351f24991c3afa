import { describe, expect, test } from 'vitest'
import { permanent, retryAfter, skip } from '../../src/model/handler-results.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { SOON, WRITE } from '../support/step-handlers.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'
import { stepsBesideHandlersContract } from './steps-beside-handlers.ts'
import { stepsSendContract } from './steps-send.ts'
import { uncertainCallsContract } from './steps-uncertain.ts'

/** What step handlers can rely on, on every store. Run by `test/inbox/<store>.test.ts`. */
export function stepsContract(store: StoreUnderTest): void {
  describe(`${store.name}: step handlers`, () => {
    test('run their steps in order, each with what the one before returned', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      const seen: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        const order = await step.tx('create order', async (tx) => {
          await tx.query(WRITE, [event.key, 'order'])
          return { id: 7 }
        })
        const label = await step.call('buy label', ({ idempotencyKey }) => ({
          of: order.id,
          key: idempotencyKey,
        }))
        await step.tx('ship', async (tx) => {
          await tx.query(WRITE, [event.key, 'shipped'])
          seen.push(label, step.attempt, step.token)
        })
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.done')

      expect(seen).toEqual([
        { of: 7, key: expect.stringMatching(/^ho_/) as string },
        1,
        expect.any(Number),
      ])
      expect(await countEffects('evt_1')).toBe(2)
      expect(
        (await inbox.admin.listSteps(eventId)).map(({ kind, name, state }) => [kind, name, state]),
      ).toEqual([
        ['tx', 'create order', 'done'],
        ['call', 'buy label', 'done'],
        ['tx', 'ship', 'done'],
      ])
    })

    test('a finished step returns what it returned before, and does not run again', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      const calls: string[] = []
      const results: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', SOON, async (event, step) => {
        const written = await step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'once'])
          return { note: 'once', missing: undefined }
        })
        const nothing = await step.call('call', ({ idempotencyKey }) => {
          calls.push(idempotencyKey)
        })
        results.push(written, nothing)
        if (step.attempt < 3) throw new Error('not yet')
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(calls).toHaveLength(1)
      expect(results).toEqual([
        { note: 'once' },
        undefined,
        { note: 'once' },
        undefined,
        { note: 'once' },
        undefined,
      ])
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a call that fails is made again with the same key, and says how often it was started', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      const seen: [string, number][] = []
      inbox.steps('stripe', 'invoice.paid', SOON, async (_event, step) => {
        await step.call('charge', ({ idempotencyKey, starts }) => {
          seen.push([idempotencyKey, starts])
          if (seen.length < 3) throw new Error('timed out')
        })
        expect(step.idempotencyKey('charge')).toBe(seen[0]?.[0])
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(new Set(seen.map(([key]) => key)).size).toBe(1)
      expect(seen.map(([, starts]) => starts)).toEqual([1, 2, 3])
    })

    test('a call is known to be started while it runs', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      const seen: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        await step.call('charge', async () => {
          const steps = await inbox.admin.listSteps(event.id)
          seen.push(...steps.map(({ name, state }) => [name, state]))
        })
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(seen).toEqual([['charge', 'started']])
    })

    test('two events, and two steps of one event, have keys of their own', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      const keys = new Set<string>()
      inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
        for (const name of ['a', 'b'])
          await step.call(name, ({ idempotencyKey }) => void keys.add(idempotencyKey))
      })
      await inbox.start()
      for (const key of ['evt_1', 'evt_2']) {
        const done = next('event.done')
        await deliver(key)
        await done
      }

      expect(keys.size).toBe(4)
    })

    test('a step that throws writes nothing', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      inbox.steps('stripe', 'invoice.paid', SOON, async (event, step) => {
        await step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'kept'])
          if (step.attempt === 1) throw new Error('not yet')
        })
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(await countEffects()).toBe(1)
    })

    test('an error that the handler catches is its own business', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        const mailed = await step
          .call('mail', () => Promise.reject(new Error('no such address')))
          .then(
            () => true,
            () => false,
          )
        await step.tx('write', (tx) => tx.query(WRITE, [event.key, String(mailed)]).then(() => 1))
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a step that the handler does not await is waited for, and its failure is the attempt’s', async () => {
      const { inbox, deliverUntil, next, countEffects } = await openInbox(store)
      inbox.steps('stripe', 'invoice.paid', SOON, (event, step) => {
        void step.call('call', async () => {
          await Promise.resolve()
          if (step.attempt === 1) throw new Error('too early')
        })
        void step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'late'])
        })
      })
      await inbox.start()
      const failed = next('event.failed')

      await deliverUntil('evt_1', 'event.done')

      expect((await failed).error.message).toBe('too early')
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('steps that are begun together run side by side', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      const inside: string[] = []
      let open: () => void = () => undefined
      const both = new Promise<void>((resolve) => (open = resolve))
      const meet = async (name: string) => {
        inside.push(name)
        if (inside.length === 2) open()
        await both
      }
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        await Promise.all([
          step.call('a', () => meet('a')),
          step.call('b', () => meet('b')),
          step.tx('c', async (tx) => {
            await tx.query(WRITE, [event.key, 'c'])
          }),
        ])
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(inside.sort()).toEqual(['a', 'b'])
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('skip, permanent and retryAfter mean what they mean in other handlers', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      inbox.steps('stripe', '*', async (event, step) => {
        if (event.type === 'invoice.paid') return skip('not ours')
        if (event.type === 'invoice.voided') throw permanent('never')
        if (step.attempt === 1) throw retryAfter(1)
        return undefined
      })
      await inbox.start()
      const skipped = next('event.skipped')
      const dead = next('event.dead')
      const done = next('event.done')

      await deliver('evt_1')
      await deliver('evt_2', { type: 'invoice.voided' })
      await deliver('evt_3', { type: 'invoice.created' })

      expect((await skipped).reason).toBe('not ours')
      expect((await dead).reason).toContain('never')
      expect((await done).attempt).toBe(2)
    })

    uncertainCallsContract(store)
    stepsBesideHandlersContract(store)
    stepsSendContract(store)
  })
}
