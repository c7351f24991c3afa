import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { openInbox } from '../support/inbox-under-test.ts'
import {
  A_FAILURE,
  claimMessages,
  deadMessage,
  enqueue,
  sent,
  unknownMessage,
} from '../support/outbox-steps.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'
import type { MessageQuery } from '../../src/admin/message-query.ts'
import type { Operator } from '../../src/admin/operator.ts'
import type { ClaimedMessage, MessageSettlement } from '../../src/store/contract/messages.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** As fast as it goes. */
const FAST = { ratePerSecond: 10_000 }

/** Pages of messages, and `admin.bulk` of messages. Run by `finding-<store>.test.ts`, and through a gateway. */
export function bulkMessagesContract(underTest: StoreUnderTest): void {
  async function open() {
    const { inbox, store } = await openInbox(underTest, { worker: false })
    return { admin: inbox.admin, store }
  }

  describe(`${underTest.name}: pages of messages`, () => {
    test('go on where the page before ended, and say how much was looked at', async () => {
      const { admin, store } = await open()
      const written = await settle(store, 5, (message) => deadMessage(message, false))
      await settle(store, 2, sent)

      const first = await admin.listMessages({ state: 'dead', limit: 2 })
      const second = await admin.listMessages(next(first, { state: 'dead', limit: 2 }))
      const third = await admin.listMessages(next(second, { state: 'dead', limit: 2 }))

      const pages = [first, second, third]
      expect(pages.flatMap(({ messages }) => messages.map(({ id }) => id))).toEqual(
        written.toReversed(),
      )
      expect(pages.map(({ lookedAt }) => lookedAt)).toEqual([2, 2, 1])
      expect(third.cursor).toBeUndefined()
    })

    test('look at nothing but what waits where only that is asked for', async () => {
      const { admin, store } = await open()
      await settle(store, 3, sent)
      await settle(store, 1, unknownMessage)
      await enqueue(store, {})

      const stopped = await admin.listMessages({ state: ['dead', 'unknown'] })
      const queued = await admin.listMessages({ state: ['ready', 'sending'] })
      const all = await admin.listMessages()

      expect([stopped, queued, all].map(({ lookedAt }) => lookedAt)).toEqual([1, 1, 5])
      expect(stopped.messages).toMatchObject([{ state: 'unknown' }])
      expect(queued.messages).toMatchObject([{ state: 'ready' }])
      expect(all.messages.map(({ state }) => state)).toEqual([
        'ready',
        'unknown',
        'sent',
        'sent',
        'sent',
      ])
    })

    test('have those of a destination, a text or a time, in any mix', async () => {
      const { admin, store } = await open()
      const [first = '', second = ''] = await settle(store, 2, (message) => ({
        ...deadMessage(message, false),
        failure: { ...A_FAILURE, message: `Answered ${message.key}` },
      }))
      await settle(store, 1, deadMessage, 'crm')
      const keys = async (query: MessageQuery) =>
        (await admin.listMessages(query)).messages.map(({ id }) => id)

      expect(await keys({ destination: 'receipts' })).toEqual([second, first])
      expect(await keys({ text: 'ANSWERED k_1', state: 'dead' })).toEqual([second])
      expect(await keys({ text: 'gave UP', destination: 'receipts' })).toEqual([second, first])
      expect(await keys({ before: new Date(0) })).toEqual([])
      expect(await keys({ after: new Date(0), destination: 'receipts' })).toEqual([second, first])
    })
  })

  describe(`${underTest.name}: actions on many messages`, () => {
    test('a plan counts the dead ones that fit, shows some, and does nothing to them', async () => {
      const { admin, store } = await open()
      const ids = await settle(store, 12, (message) => deadMessage(message, false))
      await settle(store, 1, unknownMessage)
      await settle(store, 1, deadMessage, 'crm')

      const planned = await admin.bulk.plan({
        action: 'retryMessage',
        filter: { destination: 'receipts' },
      })

      expect(planned).toMatchObject({ count: 12, isComplete: true, sample: [] })
      expect(planned.messages.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 10))
      expect(planned.messages[0]).toMatchObject({ state: 'dead', reason: 'gave up' })
      expect(planned.messages[0]).not.toHaveProperty('body')
      expect(await admin.bulk.find(planned.id)).toMatchObject({
        action: 'retryMessage',
        state: 'planned',
        planned: 12,
        left: 12,
      })
      expect((await admin.listMessages({ state: 'dead' })).messages).toHaveLength(13)
    })

    test('each is sent again once, with a row in the audit, and one that has gone on is refused', async () => {
      const { admin, store } = await open()
      const [gone = '', ...ids] = await settle(store, 4, (message) => deadMessage(message, false))
      const plan = {
        action: 'retryMessage',
        filter: {},
        reason: 'the CRM is back',
        actor: 'kim',
        token: 'click 1',
      } as const
      const [one, two] = await Promise.all([admin.bulk.plan(plan), admin.bulk.plan(plan)])
      await admin.discardMessage(gone, { reason: 'sent by hand' })

      expect(two.id).toBe(one.id)
      expect(await runToEnd(admin, one.id)).toMatchObject({
        done: 3,
        refused: { MESSAGE_STATE: 1 },
        left: 0,
      })
      expect(await runToEnd(admin, one.id)).toMatchObject({ done: 3, left: 0 })

      const ready = (await admin.listMessages({ state: 'ready' })).messages
      expect(ready.map(({ id, attempts }) => [id, attempts])).toEqual(
        ids.toReversed().map((id) => [id, 0]),
      )
      const audited = (await admin.listAudit()).filter(({ action }) => action === 'retryMessage')
      expect(audited.map(({ subject }) => subject)).toEqual(
        expect.arrayContaining(ids.map((id) => ({ kind: 'message', id }))),
      )
      expect(audited).toHaveLength(3)
      expect(audited[0]).toMatchObject({ reason: 'the CRM is back', actor: 'kim' })
    })

    test('one that is aborted leaves the rest', async () => {
      const { admin, store } = await open()
      await settle(store, 2, (message) => deadMessage(message, false))
      const order = { reason: 'out of date' }
      const { id } = await admin.bulk.plan({ action: 'discardMessage', filter: {}, ...order })

      expect(await admin.bulk.abort(id)).toEqual({ status: 'done' })

      expect(await admin.bulk.run(id)).toMatchObject({ status: 'refused', code: 'BULK_ABORTED' })
      expect((await admin.listMessages({ state: 'dead' })).messages).toHaveLength(2)
    })

    test('what may have arrived, and what is sent by itself, is chosen only where it is named', async () => {
      const { admin, store } = await open()
      await settle(store, 1, unknownMessage)
      await enqueue(store, { key: 'ready_1' }, { key: 'ready_2' })
      const order = { action: 'discardMessage', reason: 'out of date' } as const

      const none = await admin.bulk.plan({ ...order, filter: {} })
      const named = await admin.bulk.plan({ ...order, filter: { state: ['ready', 'unknown'] } })

      expect([none.count, named.count]).toEqual([0, 3])
      expect(await runToEnd(admin, named.id)).toMatchObject({ done: 3, left: 0 })
      expect((await admin.listMessages({ state: 'discarded' })).messages).toHaveLength(3)
    })

    test.each([
      [{ action: 'retryMessage', filter: { state: 'sent' } }, '.filter.state'],
      [{ action: 'retryMessage', filter: { state: 'ready' } }, '.filter.state'],
      [{ action: 'retryMessage', filter: { source: 'stripe' } }, '.filter.source'],
      [{ action: 'retryMessage', filter: {}, freshKeys: true }, '.freshKeys'],
      [{ action: 'discardMessage', filter: {} }, '.reason'],
      [{ action: 'confirmMessage', filter: {} }, '.action'],
    ])('a plan refuses %j by name', async (plan, option) => {
      const { admin } = await open()
      const ask = admin.bulk.plan as (given: unknown) => Promise<unknown>

      await expect(ask(plan)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
      // Through a gateway its own schema may be the first to refuse it.
      if (underTest.operate === undefined || !['.action', '.freshKeys'].includes(option))
        await expect(ask(plan)).rejects.toMatchObject({
          option: expect.stringContaining(option) as string,
        })
    })
  })
}

type Page = Awaited<ReturnType<Operator['listMessages']>>

function next({ cursor }: Page, query: MessageQuery): MessageQuery {
  return { ...query, ...(cursor !== undefined && { cursor }) }
}

/** Writes so many messages and says what became of them. Their ids, oldest first. */
async function settle(
  store: Store<QueryTx>,
  count: number,
  settlement: (message: ClaimedMessage) => MessageSettlement,
  destination = 'receipts',
): Promise<string[]> {
  const drafts = Array.from({ length: count }, (_, nth) => ({
    key: count === 2 ? `k_${nth}` : `${destination}_${settlement.name}_${count}_${nth}`,
    destination,
  }))
  await enqueue(store, ...drafts)
  const claimed = await claimMessages(store, { limit: count, destination })
  await store.messages.settle(claimed.map(settlement))
  return claimed.map(({ id }) => id).sort()
}

async function runToEnd({ bulk }: Operator, id: string) {
  const run = await bulk.run(id, FAST)
  assert(run.status === 'done')
  expect(await run.ended).toEqual({ status: 'finished' })
  return bulk.find(id)
}
