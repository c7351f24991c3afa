import { describe, expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import type { Message } from '../../src/model/message.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { claimOne, deadMessage, enqueue, unknownMessage } from '../support/outbox-steps.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What an operator can do about messages. Run by `test/inbox/<store>.test.ts`, and through a gateway. */
export function messageActionsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: an operator of messages`, () => {
    async function open() {
      const sent: Message[] = []
      const receipts = destination('receipts', (message) => void sent.push(message))
      const opened = await openInbox(underTest, { destinations: [receipts], relay: false })
      return { ...opened, sent, receipts }
    }

    test('sees a message as it is stored: its bytes, times and failures', async () => {
      const { inbox, store } = await open()
      await enqueue(store, { key: 'k1', body: Buffer.from([0, 0xff, 0x7b]) })
      const message = await claimOne(store)
      await store.messages.settle([deadMessage(message)])
      const { id } = message

      const found = await inbox.admin.findMessage(id)

      expect(withHex(found)).toEqual(withHex(await store.messages.find(id)))
      expect(withHex(found)).toMatchObject({ state: 'dead', key: 'k1', body: '00ff7b' })
      expect(
        (await inbox.admin.listMessages({ state: 'dead', destination: 'receipts' })).messages,
      ).toEqual([found])
      expect(
        (await inbox.admin.listMessages({ state: 'dead', destination: 'crm' })).messages,
      ).toEqual([])
      expect((await inbox.admin.listMessages({ state: 'sent' })).messages).toEqual([])
    })

    test('sends a dead one again, which a relay does under its own key', async () => {
      const { inbox, store, another, sent, receipts } = await open()
      await enqueue(store, { key: 'k1' })
      const message = await claimOne(store)
      await store.messages.settle([deadMessage(message)])
      const { id } = message
      const order = { reason: 'the shop is back', actor: 'kim', token: 'again-1' }

      expect(await inbox.admin.retryMessage(id, order)).toEqual({ status: 'done' })
      expect(await inbox.admin.retryMessage(id, order)).toEqual({ status: 'done' })

      const relay = another({ destinations: [receipts], worker: false, relay: { pollMs: 50 } })
      const done = new Promise((resolve) => relay.events.on('message.sent', resolve))
      await relay.start()
      await done
      expect(sent.map(({ key }) => key)).toEqual(['k1'])
      expect(await inbox.admin.findMessage(id)).toMatchObject({ state: 'sent' })
      expect(await inbox.admin.listAudit()).toMatchObject([
        { action: 'retryMessage', subject: { kind: 'message', id }, ...order },
      ])
    })

    test('decides about one that may have arrived, once', async () => {
      const { inbox, store } = await open()
      const ids: string[] = []
      for (const key of ['arrived', 'unwanted']) {
        await enqueue(store, { key })
        const message = await claimOne(store)
        await store.messages.settle([unknownMessage(message)])
        ids.push(message.id)
      }
      const [arrived = '', unwanted = ''] = ids
      const { admin } = inbox

      expect(await admin.confirmMessage(arrived, { actor: 'kim' })).toEqual({ status: 'done' })
      expect(await admin.discardMessage(unwanted, { reason: 'sent by hand' })).toEqual({
        status: 'done',
      })

      expect(await admin.findMessage(arrived)).toMatchObject({ state: 'sent' })
      expect(await admin.findMessage(unwanted)).toMatchObject({ state: 'discarded' })
      for (const act of [admin.retryMessage, admin.confirmMessage, admin.discardMessage])
        expect(await act(arrived)).toMatchObject({ status: 'refused', code: 'MESSAGE_STATE' })
      expect((await admin.listMessages({ state: 'unknown' })).messages).toEqual([])
      expect((await admin.listAudit()).map(({ action }) => action)).toEqual([
        'discardMessage',
        'confirmMessage',
      ])
    })

    test('leaves alone what a relay has in hand', async () => {
      const { inbox, store } = await open()
      await enqueue(store, {})
      const { id } = await claimOne(store)

      for (const act of [inbox.admin.retryMessage, inbox.admin.discardMessage])
        expect(await act(id)).toMatchObject({ status: 'refused', code: 'MESSAGE_STATE' })

      expect(await inbox.admin.findMessage(id)).toMatchObject({ state: 'sending' })
    })
  })
}

/** A store may give a Buffer where another gives bytes. */
function withHex(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (Array.isArray(value)) return value.map(withHex)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withHex(member)]))
}
