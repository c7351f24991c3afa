import { describe, expect, test } from 'vitest'
import type { MessageAction } from '../../../src/store/contract/messages.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import {
  claimMessages,
  claimOne,
  deadMessage,
  enqueue,
  sent,
  unknownMessage,
} from '../../support/outbox-steps.ts'
import { NO_ORDER } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

const NO_ID = '00000000-0000-7000-8000-000000000000'

/** What every store must do for an operator of the outbox. */
export function outboxOperatorsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: operators of the outbox`, () => {
    test('a paused destination is not claimed from, in any process, until it is resumed', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await enqueue(store, {})

      expect(await store.messages.pauseDestination('receipts', 'gone')).toBe(true)
      expect(await other.messages.pauseDestination('receipts', 'again')).toBe(false)

      expect(await claimMessages(other)).toEqual([])
      expect(await other.messages.nextDueInMs(['receipts'], 60_000)).toBeUndefined()
      const receipts = { kind: 'destination', name: 'receipts' } as const
      expect(await other.pauses.list()).toMatchObject([
        { ...receipts, reason: 'gone', actor: 'relay' },
      ])
      expect(await other.pauses.resume(receipts, NO_ORDER)).toEqual({ status: 'done' })
      expect(await other.pauses.resume(receipts, NO_ORDER)).toMatchObject({ code: 'NOT_PAUSED' })
      expect(await claimMessages(store)).toHaveLength(1)
      expect(await store.pauses.list()).toEqual([])
    })

    test('a dead message says why, and can be retried from the start', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const message = await claimOne(store)
      await store.messages.settle([deadMessage(message)])

      expect(await store.messages.list({ state: 'dead', limit: 10 })).toMatchObject([
        { id: message.id, state: 'dead', reason: 'gave up', attempts: 1 },
      ])
      expect(await decide(store, 'confirmMessage', message.id)).toBe(false)
      expect(await decide(store, 'retryMessage', message.id)).toBe(true)
      expect(await decide(store, 'retryMessage', message.id)).toBe(false)

      expect(await claimOne(store)).toMatchObject({ id: message.id, attempt: 1, key: 'key_1' })
      expect((await store.messages.find(message.id))?.failures).toHaveLength(1)
    })

    test('an unknown message was no attempt, and keeps since when it is in doubt', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      await claimOne(store, { leaseMs: 0 })
      const message = await claimOne(store)

      await store.messages.settle([unknownMessage(message)])

      const record = await store.messages.find(message.id)
      expect(record).toMatchObject({ state: 'unknown', reason: 'who knows', attempts: 1 })
      expect(record?.uncertainSince).toBeInstanceOf(Date)
      expect(await claimMessages(store)).toEqual([])
    })

    test('an unknown message is sent again, confirmed or discarded, as a person decides', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { key: 'again' }, { key: 'arrived' }, { key: 'unwanted' })
      const claimed = await claimMessages(store)
      await store.messages.settle(claimed.map(unknownMessage))
      const idOf = (key: string) => claimed.find((message) => message.key === key)!.id

      expect(await decide(store, 'retryMessage', idOf('again'))).toBe(true)
      expect(await decide(store, 'confirmMessage', idOf('arrived'))).toBe(true)
      expect(await decide(store, 'discardMessage', idOf('unwanted'))).toBe(true)

      expect(await claimOne(store)).toMatchObject({ key: 'again', uncertainForMs: undefined })
      expect((await store.messages.find(idOf('arrived')))?.state).toBe('sent')
      expect((await store.messages.find(idOf('unwanted')))?.state).toBe('discarded')
    })

    test('a message that waits can be discarded, one on its way or sent cannot', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { key: 'a' })
      const onItsWay = await claimOne(store)
      await enqueue(store, { key: 'b', delayMs: 3_600_000 })
      const [waiting] = await store.messages.list({ state: 'ready', limit: 10 })

      expect(await decide(store, 'discardMessage', waiting!.id)).toBe(true)
      expect((await store.messages.find(waiting!.id))?.state).toBe('discarded')
      expect(await decide(store, 'discardMessage', onItsWay.id)).toBe(false)
      await store.messages.settle([sent(onItsWay)])
      expect(await decide(store, 'discardMessage', onItsWay.id)).toBe(false)
      expect(await decide(store, 'retryMessage', onItsWay.id)).toBe(false)
    })

    test('a message whose lease has ended can be discarded, and may have been sent', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const { id } = await claimOne(store, { leaseMs: 0 })

      expect(await decide(store, 'discardMessage', id)).toBe(true)

      const message = await store.messages.find(id)
      expect(message?.state).toBe('discarded')
      expect(message?.uncertainSince).toBeInstanceOf(Date)
    })

    test('messages are listed by state and destination, latest first', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { key: 'a' }, { key: 'b' }, { key: 'c', destination: 'mail' })
      await enqueue(store, { key: 'd' })
      const keys = async (state: 'ready' | 'sending' | 'sent', destination?: string) =>
        (await store.messages.list({ state, destination, limit: 10 })).map(({ key }) => key)

      expect(await keys('ready', 'receipts')).toEqual(['d', 'b', 'a'])
      expect(await keys('ready')).toEqual(['d', 'c', 'b', 'a'])
      const claimed = await claimMessages(store)
      expect(await keys('sending')).toEqual(['d', 'b', 'a'])
      await store.messages.settle(claimed.map(sent))
      expect(await keys('sent', 'receipts')).toEqual(['d', 'b', 'a'])
      expect(await store.messages.list({ state: 'sent', limit: 1 })).toHaveLength(1)
    })

    test('a message that is not here is not found, and nothing can be done to it', async () => {
      const { store } = await openStore(underTest)

      expect(await store.messages.find(NO_ID)).toBeUndefined()
      expect(await store.messages.find('nonsense')).toBeUndefined()
      for (const id of [NO_ID, 'nonsense']) {
        expect(await decide(store, 'retryMessage', id)).toBe(false)
        expect(await decide(store, 'confirmMessage', id)).toBe(false)
        expect(await decide(store, 'discardMessage', id)).toBe(false)
      }
    })
  })
}

/** Whether it was done. */
async function decide(store: Store<QueryTx>, action: MessageAction, id: string): Promise<boolean> {
  return (await store.messages.decide(action, id, NO_ORDER)).status === 'done'
}
