import assert from 'node:assert/strict'
import { assertMatches, required } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'
import type { MessageAction } from '../../../store/contract/messages.ts'
import {
  claimMessages,
  claimOne,
  deadMessage,
  enqueue,
  listMessages,
  sent,
  unknownMessage,
} from '../steps/outbox-steps.ts'
import { NO_ORDER } from '../steps/store-steps.ts'

export const messageOperatorCases: readonly StoreCase[] = [
  ...casesOf('operators of the outbox', [
    {
      name: 'a paused destination is not claimed from, in any process, until it is resumed',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        await enqueue(store, {})

        assert.equal(await store.messages.pauseDestination('receipts', 'gone'), true)
        assert.equal(await other.messages.pauseDestination('receipts', 'again'), false)

        assert.deepEqual(await claimMessages(other), [])
        assert.equal(await other.messages.nextDueInMs(['receipts'], 60_000), undefined)
        const receipts = { kind: 'destination', name: 'receipts' } as const
        assertMatches(await other.pauses.list(), [{ ...receipts, reason: 'gone', actor: 'relay' }])
        assert.deepEqual(await other.pauses.resume(receipts, NO_ORDER), { status: 'done' })
        assertMatches(await other.pauses.resume(receipts, NO_ORDER), { code: 'NOT_PAUSED' })
        assert.equal((await claimMessages(store)).length, 1)
        assert.deepEqual(await store.pauses.list(), [])
      },
    },

    {
      name: 'Y02: a token makes calls at once one change, and all are told the same',
      run: async (open) => {
        const { store, second } = await open()
        const stores = [store, await second()]
        const atOnce = (call: (each: AnyStore) => Promise<{ readonly status: string }>) =>
          Promise.all([...stores, ...stores].map(call))
        const receipts = { kind: 'destination', name: 'receipts' } as const
        const allDone = Array.from({ length: 4 }, () => ({ status: 'done' }))
        for (let round = 0; round < 10; round += 1) {
          await enqueue(store, { key: `key_${round}` })
          const message = await claimOne(store)
          await store.messages.settle([deadMessage(message)])
          const order = (what: string) => ({ ...NO_ORDER, token: `${what} ${round}` })

          const paused = await atOnce((each) => each.pauses.pause(receipts, order('pause')))
          const decided = await atOnce((each) =>
            each.messages.decide('discardMessage', message.id, order('discard')),
          )
          const resumed = await atOnce((each) => each.pauses.resume(receipts, order('resume')))

          assert.deepEqual([paused, decided, resumed], [allDone, allDone, allDone])
        }
        assert.equal((await store.operators.listAudit({ limit: 100 })).length, 30)
      },
    },

    {
      name: 'a dead message says why, and can be retried from the start',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const message = await claimOne(store)
        await store.messages.settle([deadMessage(message)])

        assertMatches(await listMessages(store, { state: 'dead', limit: 10 }), [
          { id: message.id, state: 'dead', reason: 'gave up', attempts: 1 },
        ])
        assert.equal(await decide(store, 'confirmMessage', message.id), false)
        assert.equal(await decide(store, 'retryMessage', message.id), true)
        assert.equal(await decide(store, 'retryMessage', message.id), false)

        assertMatches(await claimOne(store), { id: message.id, attempt: 1, key: 'key_1' })
        assert.equal((await store.messages.find(message.id))?.failures.length, 1)
      },
    },

    {
      name: 'an unknown message was no attempt, and keeps since when it is in doubt',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        await claimOne(store, { leaseMs: 0 })
        const message = await claimOne(store)

        await store.messages.settle([unknownMessage(message)])

        const record = await store.messages.find(message.id)
        assertMatches(record, { state: 'unknown', reason: 'who knows', attempts: 1 })
        assert.ok(record?.uncertainSince instanceof Date)
        assert.deepEqual(await claimMessages(store), [])
      },
    },

    {
      name: 'an unknown message is sent again, confirmed or discarded, as a person decides',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, { key: 'again' }, { key: 'arrived' }, { key: 'unwanted' })
        const claimed = await claimMessages(store)
        await store.messages.settle(claimed.map(unknownMessage))
        const idOf = (key: string) => required(claimed.find((message) => message.key === key)).id

        assert.equal(await decide(store, 'retryMessage', idOf('again')), true)
        assert.equal(await decide(store, 'confirmMessage', idOf('arrived')), true)
        assert.equal(await decide(store, 'discardMessage', idOf('unwanted')), true)

        assertMatches(await claimOne(store), { key: 'again', uncertainForMs: undefined })
        assert.equal((await store.messages.find(idOf('arrived')))?.state, 'sent')
        assert.equal((await store.messages.find(idOf('unwanted')))?.state, 'discarded')
      },
    },

    {
      name: 'a message that waits can be discarded, one on its way or sent cannot',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, { key: 'a' })
        const onItsWay = await claimOne(store)
        await enqueue(store, { key: 'b', delayMs: 3_600_000 })
        const [waiting] = await listMessages(store, { state: 'ready', limit: 10 })

        assert.equal(await decide(store, 'discardMessage', required(waiting).id), true)
        assert.equal((await store.messages.find(required(waiting).id))?.state, 'discarded')
        assert.equal(await decide(store, 'discardMessage', onItsWay.id), false)
        await store.messages.settle([sent(onItsWay)])
        assert.equal(await decide(store, 'discardMessage', onItsWay.id), false)
        assert.equal(await decide(store, 'retryMessage', onItsWay.id), false)
      },
    },

    {
      name: 'a message whose lease has ended can be discarded, and may have been sent',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const { id } = await claimOne(store, { leaseMs: 0 })

        assert.equal(await decide(store, 'discardMessage', id), true)

        const message = await store.messages.find(id)
        assert.equal(message?.state, 'discarded')
        assert.ok(message?.uncertainSince instanceof Date)
      },
    },

    {
      name: 'messages are listed by state and destination, latest first',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, { key: 'a' }, { key: 'b' }, { key: 'c', destination: 'mail' })
        await enqueue(store, { key: 'd' })
        const keys = async (state: 'ready' | 'sending' | 'sent', destination?: string) =>
          (await listMessages(store, { state, destination, limit: 10 })).map(({ key }) => key)

        assert.deepEqual(await keys('ready', 'receipts'), ['d', 'b', 'a'])
        assert.deepEqual(await keys('ready'), ['d', 'c', 'b', 'a'])
        const claimed = await claimMessages(store)
        assert.deepEqual(await keys('sending'), ['d', 'b', 'a'])
        await store.messages.settle(claimed.map(sent))
        assert.deepEqual(await keys('sent', 'receipts'), ['d', 'b', 'a'])
        assert.equal((await listMessages(store, { state: 'sent', limit: 1 })).length, 1)
      },
    },

    {
      name: 'a message that is not here is not found, and nothing can be done to it',
      run: async (open) => {
        const { store } = await open()

        assert.equal(await store.messages.find(NO_ID), undefined)
        assert.equal(await store.messages.find('nonsense'), undefined)
        for (const id of [NO_ID, 'nonsense']) {
          assert.equal(await decide(store, 'retryMessage', id), false)
          assert.equal(await decide(store, 'confirmMessage', id), false)
          assert.equal(await decide(store, 'discardMessage', id), false)
        }
      },
    },
  ]),
]

const NO_ID = '00000000-0000-7000-8000-000000000000'

/** Whether it was done. */
async function decide(store: AnyStore, action: MessageAction, id: string): Promise<boolean> {
  return (await store.messages.decide(action, id, NO_ORDER)).status === 'done'
}
