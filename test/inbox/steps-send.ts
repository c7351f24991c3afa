import { expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import type { StepContext } from '../../src/work/steps/step-context.ts'
import { permanent } from '../../src/model/handler-results.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { SOON, WRITE } from '../support/step-handlers.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

/** What is written stays there to be looked at. */
const UNSENT = { destinations: [destination('mail', () => undefined)], relay: false } as const

/** Messages of step handlers. */
export function stepsSendContract(store: StoreUnderTest): void {
  test('messages are written once, by step.send and inside a step.tx, each with a key of its own', async () => {
    const { inbox, deliverUntil } = await openInbox(store, UNSENT)
    inbox.steps('stripe', 'invoice.paid', SOON, async (event, step: StepContext<QueryTx>) => {
      await step.send('mail', { to: event.key })
      await step.tx('write', async (tx, { send }) => {
        await tx.query(WRITE, [event.key, 'with mail'])
        await send('mail', { n: 1 })
        await send('mail', { n: 2 })
        await send('mail', { n: 3 }, { key: 'third' })
      })
      await step.send('mail', { last: true })
      if (step.attempt < 3) throw new Error('again')
    })
    await inbox.start()

    await deliverUntil('evt_1', 'event.done')

    const { messages } = await inbox.admin.listMessages({ state: 'ready' })
    expect(messages).toHaveLength(5)
    expect(new Set(messages.map(({ key }) => key)).size).toBe(5)
  })

  // SQLite has one writer, so that no transaction is in another's way.
  test.skipIf(!store.capabilities.parallelGroups)(
    'a message of a step that ran again for the sake of others has the key of every run, also in a replay',
    async () => {
      const { inbox, next, deliverUntil } = await openInbox(store, UNSENT)
      let runs = 0
      inbox.steps('stripe', 'invoice.paid', async (_event, step: StepContext<QueryTx>) => {
        await step.tx('write', async (tx, { send }) => {
          await send('mail', {})
          runs += 1
          if (runs > 1) return
          await tx.query(`do $$ begin raise exception 'not now' using errcode = '40001'; end $$`)
        })
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.done')
      expect(runs).toBe(2)

      const done = next('event.done')
      expect(await inbox.admin.replay(eventId, { reason: 'to see' })).toMatchObject({ run: 1 })
      await done

      expect(runs).toBe(3)
      // What was written already is not written again: it is known by its key.
      const { messages } = await inbox.admin.listMessages({ state: 'ready' })
      expect(messages).toHaveLength(1)
    },
  )

  test('a message of a step that throws is not written', async () => {
    const { inbox, deliverUntil } = await openInbox(store, UNSENT)
    inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
      await step.tx('write', async (_tx, { send }) => {
        await send('mail', {})
        throw permanent('no')
      })
    })
    await inbox.start()

    await deliverUntil('evt_1', 'event.dead')

    expect((await inbox.admin.listMessages({ state: 'ready' })).messages).toEqual([])
  })

  test('a message of a step that is committed leaves while its event still runs', async () => {
    let onSent = (_key: string): void => undefined
    const sent = new Promise<string>((resolve) => (onSent = resolve))
    const destinations = [destination('mail', ({ key }) => onSent(key))]
    // The handler gives up long before a relay looks by itself: it has to be called.
    const { inbox, deliver } = await openInbox(store, {
      destinations,
      relay: { pollMs: 60_000 },
    })
    const once = { timeoutMs: 30_000, retry: { attemptsMax: 1 } }
    inbox.steps('stripe', 'invoice.paid', once, async (_event, step) => {
      await step.send('mail', {}, { key: 'k1' })
      await step.call('wait for the mail', async () => sent)
    })
    await inbox.start()

    inbox.events.on('event.dead', () => onSent('the relay was not called'))

    await deliver('evt_1')

    expect(await sent).toBe('k1')
  })
}
