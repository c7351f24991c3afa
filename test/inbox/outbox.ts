import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { permanent } from '../../src/index.ts'
import { destination } from '../../src/outbox/destination.ts'
import type { Message } from '../../src/model/message.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { InboxSetup } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What every store must let a handler send. */
export function outboxContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: sending`, () => {
    async function open(setup: InboxSetup = {}) {
      const sent: Message[] = []
      const opened = await openInbox(underTest, {
        destinations: [
          destination('mail', (message) => {
            sent.push(message)
          }),
          destination('crm', (message) => {
            sent.push(message)
          }),
        ],
        relay: { pollMs: 50 },
        ...setup,
      })
      return { ...opened, sent }
    }

    test('what a handler sends arrives when it has committed, and carries its event', async () => {
      const { inbox, deliver, next, sent } = await open()
      inbox.on('stripe', 'invoice.paid', async (event, { send }) => {
        await send('mail', { invoice: event.key }, { headers: { 'x-kind': 'receipt' } })
      })
      await inbox.start()

      const happened = next('message.sent')
      const { eventId } = await deliver('evt_1')
      const { messageId } = await happened

      expect(sent).toHaveLength(1)
      expect(sent[0]).toMatchObject({
        destination: 'mail',
        eventId,
        contentType: 'application/json',
        headers: { 'x-kind': 'receipt' },
        attempt: 1,
      })
      expect(Buffer.from(sent[0]!.body).toString()).toBe('{"invoice":"evt_1"}')
      expect(await inbox.admin.findMessage(messageId)).toMatchObject({ state: 'sent', eventId })
    })

    test('a payload that its destination does not take makes the event dead, and nothing is sent', async () => {
      const mail = destination('mail', { schema: z.object({ to: z.string() }) }, () => undefined)
      const { inbox, deliver } = await open({ destinations: [mail] })
      inbox.on('stripe', 'invoice.paid', (_event, { send }) => send('mail', { to: 5 }))
      inbox.steps('stripe', 'charge.captured', (_event, step) => step.send('mail', { to: 5 }))

      const { eventId: ofHandler } = await deliver('evt_1')
      const { eventId: ofSteps } = await deliver('evt_2', { type: 'charge.captured' })
      expect(await inbox.runDue({ budgetMs: 60_000 })).toMatchObject({ dead: 2, messagesSent: 0 })

      for (const id of [ofHandler, ofSteps])
        expect(await inbox.admin.find(id ?? '')).toMatchObject([
          {
            state: 'dead',
            attempts: 1,
            reason: expect.stringContaining('destination "mail" takes: to: ') as string,
          },
        ])
    })

    test('the keys follow from event, handler and position, and are the same at every attempt', async () => {
      const { inbox, deliverUntil, next, sent } = await open()
      const keys: string[][] = []
      inbox.on(
        'stripe',
        'invoice.paid',
        { retry: { firstMs: 1 } },
        async (_event, { send, attempt, idempotencyKey }) => {
          const first = await send('mail', 1)
          const other = await send('crm', 1)
          const second = await send('mail', 2)
          const named = await send('mail', 3, { key: idempotencyKey('mine') })
          keys.push([first, other, second, named])
          if (attempt === 1) throw new Error('the first time')
        },
      )
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')
      while (sent.length < 4) await next('message.sent')

      expect(keys[1]).toEqual(keys[0])
      expect(new Set(keys[0]).size).toBe(4)
      for (const key of keys[0]!) expect(key.length).toBeLessThanOrEqual(255)
      // Nothing of the attempt that failed was sent.
      expect(sent.map(({ key }) => key).sort()).toEqual([...keys[0]!].sort())
    })

    test('a handler that fails for good sends nothing', async () => {
      const { inbox, deliverUntil } = await open()
      inbox.on('stripe', 'invoice.paid', async (_event, { send }) => {
        await send('mail', 1)
        throw permanent('no')
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.dead')

      expect((await inbox.admin.listMessages({ state: 'ready' })).messages).toEqual([])
    })

    test('X14: what cannot be sent throws in the handler, from its own line', async () => {
      const { inbox, deliver, next } = await open()
      inbox.on('stripe', 'invoice.paid', (_event, { send }) => {
        // It is not awaited, and throws all the same.
        void send('mail', 1, { headers: { 'x-name': 'a\r\nb' } })
      })
      await inbox.start()

      const failed = next('event.failed')
      await deliver('evt_1')
      const { error } = await failed

      expect(error).toMatchObject({ code: 'MESSAGE_INVALID' })
      expect(error.stack).toContain('test/inbox/outbox.ts')
    })

    test('a handler that has returned sends nothing more', async () => {
      const { inbox, deliverUntil } = await open()
      let late: (() => unknown) | undefined
      inbox.on('stripe', 'invoice.paid', (_event, { send }) => {
        late = () => send('mail', 1)
      })
      await inbox.start()

      await deliverUntil('evt_1', 'event.done')

      expect(() => late?.()).toThrow(expect.objectContaining({ code: 'TX_REVOKED' }))
    })

    test('a handler without a transaction cannot send', async () => {
      const { inbox, deliver, next } = await open()
      inbox.on(
        'stripe',
        'invoice.paid',
        { guarantee: 'at-least-once' },
        async (_event, { send }) => {
          await send('mail', 1)
        },
      )
      await inbox.start()

      const failed = next('event.failed')
      await deliver('evt_1')

      expect((await failed).error).toMatchObject({ code: 'TRANSACTION_EXPECTED' })
    })

    test('a message that is to wait is not sent before', async () => {
      const { inbox, deliver, next, sent } = await open()
      inbox.on('stripe', 'invoice.paid', async (_event, { send }) => {
        await send('mail', 'later', { delayMs: 3_600_000 })
        await send('mail', 'now')
      })
      await inbox.start()

      const happened = next('message.sent')
      await deliver('evt_1')
      await happened

      expect(sent.map(({ body }) => Buffer.from(body).toString())).toEqual(['"now"'])
      expect((await inbox.admin.listMessages({ state: 'ready' })).messages).toHaveLength(1)
    })

    test('a process without a relay leaves its messages to one that has', async () => {
      const { inbox, deliverUntil, another, sent } = await open({ relay: false })
      inbox.on('stripe', 'invoice.paid', async (_event, { send }) => {
        await send('mail', 1)
      })
      await inbox.start()
      await deliverUntil('evt_1', 'event.done')
      expect((await inbox.admin.listMessages({ state: 'ready' })).messages).toHaveLength(1)

      const arrived: Message[] = []
      const other = another({
        worker: false,
        destinations: [destination('mail', (message) => void arrived.push(message))],
        relay: {},
      })
      const happened = new Promise((resolve) => other.events.on('message.sent', resolve))
      await other.start()
      await happened

      expect(arrived).toHaveLength(1)
      expect(sent).toEqual([])
    })
  })
}
