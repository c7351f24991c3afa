import { describe, expect, test } from 'vitest'
import { permanent } from '../../src/model/handler-results.ts'
import { aSignal } from '../support/a-signal.ts'
import { deliverTo, openOrdered } from '../support/ordered-inbox.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { TestInbox } from '../support/inbox-under-test.ts'
import { WRITE } from '../support/step-handlers.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const NO_MEMORY = { receive: { rememberMax: 0 } }

/** Forgetting an event never makes its effects happen twice. Run by `test/inbox/<store>.test.ts`. */
export function forgetContract(store: StoreUnderTest): void {
  describe(`${store.name}: forgetting`, () => {
    test('an event that has not run is refused, and its redelivery is a duplicate', async () => {
      const { inbox, deliver, countEffects } = await openInbox(store, NO_MEMORY)
      const { eventId } = await deliver('evt_1')

      const forgotten = await inbox.admin.forget(eventId as string)
      const again = await deliver('evt_1')
      await runAll(inbox, again.eventId as string)

      expect(await countEffects('evt_1')).toBe(1)
      expect(forgotten).toMatchObject({ status: 'refused', code: 'EVENT_READY' })
      expect(again).toMatchObject({ outcome: 'duplicate', eventId })
    })

    test('an event whose step handler runs is refused, and no second one runs beside it', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store, NO_MEMORY)
      const begun = aSignal()
      const mayEnd = aSignal()
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        begun.give()
        await mayEnd.given
        await step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'charged'])
        })
      })
      await inbox.start()
      const { eventId } = await deliver('evt_1')
      await begun.given

      const forgotten = await inbox.admin.forget(eventId as string)
      const again = await deliver('evt_1')
      const done = next('event.done', (event) => event.eventId === again.eventId)
      mayEnd.give()
      await done

      await inbox.stop()

      expect(await countEffects('evt_1')).toBe(1)
      expect(forgotten).toMatchObject({ status: 'refused', code: 'EVENT_RUNNING' })
      expect(again).toMatchObject({ outcome: 'duplicate', eventId })
    })

    test('a dead event discards it, so that only its redelivery can run', async () => {
      const { inbox, deliver, deliverUntil, next, countEffects } = await openInbox(store, NO_MEMORY)
      let isFixed = false
      inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
        if (!isFixed) throw permanent('a bug')
        await tx.query(WRITE, [event.key, 'charged'])
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.dead')
      isFixed = true

      const forgotten = await inbox.admin.forget(eventId)
      const retried = await inbox.admin.retry(eventId)
      const done = next('event.done', (event) => event.eventId !== eventId)
      const again = await deliver('evt_1')
      await done
      await inbox.stop()

      expect(await countEffects('evt_1')).toBe(1)
      expect(forgotten).toMatchObject({ status: 'done', state: 'discarded' })
      expect(retried).toMatchObject({ status: 'refused', code: 'EVENT_DISCARDED' })
      expect(again.outcome).toBe('accepted')
    })

    test('says from when on a redelivery is new, also in a process that has not heard of it', async () => {
      const { newInbox } = await openOrdered(store)
      let isDeaf = false
      const never = new Promise<never>(() => undefined)
      const receiver = newInbox({}, {}, (own) => {
        const beat = own.events.beat.bind(own.events)
        own.events.beat = (since) => (isDeaf ? never : beat(since))
        return own
      })
      receiver.on('partner', '*', () => undefined)
      const done = new Promise<void>((resolve) => receiver.events.on('event.done', () => resolve()))
      await receiver.start()
      const sent = { id: 'e1', lane: 'K' } as const
      const eventId = await deliverTo(receiver, sent)
      await done
      isDeaf = true

      const forgotten = await newInbox(false).admin.forget(eventId)

      const from = forgotten.status === 'done' ? forgotten.redeliverFrom : undefined
      await expect.poll(() => Date.now()).toBeGreaterThanOrEqual(from?.getTime() ?? Infinity)
      expect(await deliverTo(receiver, sent)).not.toBe(eventId)
    })
  })
}

/** Runs what there is, the named event included. */
async function runAll(inbox: TestInbox, last: string): Promise<void> {
  inbox.on('stripe', 'invoice.paid', { groupMax: 1 }, async (event, { tx }) => {
    await tx.query(WRITE, [event.key, 'charged'])
  })
  await new Promise<void>((resolve, reject) => {
    inbox.events.on('event.done', ({ eventId }) => {
      if (eventId === last) resolve()
    })
    inbox.start().catch(reject)
  })
  await inbox.stop()
}
