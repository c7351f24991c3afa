import { expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import type { StepContext } from '../../src/work/steps/step-context.ts'
import { permanent } from '../../src/model/verdicts.ts'
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

    const messages = await inbox.admin.listMessages({ state: 'ready' })
    expect(messages).toHaveLength(5)
    expect(new Set(messages.map(({ key }) => key)).size).toBe(5)
  })

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

    expect(await inbox.admin.listMessages({ state: 'ready' })).toEqual([])
  })
}
