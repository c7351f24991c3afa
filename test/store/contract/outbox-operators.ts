import { describe, expect, test } from 'vitest'
import {
  claimMessages,
  claimOne,
  deadMessage,
  enqueue,
  sent,
  unknownMessage,
} from '../../support/outbox-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

const NO_ID = '00000000-0000-7000-8000-000000000000'

/** What every store must do for an operator of the outbox. */
export function outboxOperatorsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: operators of the outbox`, () => {
    test('a paused destination is not claimed from, in any process, until it is resumed', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await enqueue(store, {})

      expect(await store.pauseDestination('receipts', 'gone')).toBe(true)
      expect(await other.pauseDestination('receipts', 'again')).toBe(false)

      expect(await claimMessages(other)).toEqual([])
      expect(await other.nextMessageDueInMs(['receipts'], 60_000)).toBeUndefined()
      expect(await other.listPausedDestinations()).toMatchObject([
        { name: 'receipts', reason: 'gone' },
      ])
      expect(await other.resumeDestination('receipts')).toBe(true)
      expect(await other.resumeDestination('receipts')).toBe(false)
      expect(await claimMessages(store)).toHaveLength(1)
      expect(await store.listPausedDestinations()).toEqual([])
    })

    test('a dead message says why, and can be retried from the start', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const message = await claimOne(store)
      await store.settleMessages([deadMessage(message)])

      expect(await store.listMessages({ state: 'dead', limit: 10 })).toMatchObject([
        { id: message.id, state: 'dead', reason: 'gave up', attempts: 1 },
      ])
      expect(await store.confirmMessage(message.id)).toBe(false)
      expect(await store.retryMessage(message.id)).toBe(true)
      expect(await store.retryMessage(message.id)).toBe(false)

      expect(await claimOne(store)).toMatchObject({ id: message.id, attempt: 1, key: 'key_1' })
      expect((await store.findMessage(message.id))?.failures).toHaveLength(1)
    })

    test('an unknown message was no attempt, and keeps since when it is in doubt', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      await claimOne(store, { leaseMs: 0 })
      const message = await claimOne(store)

      await store.settleMessages([unknownMessage(message)])

      const record = await store.findMessage(message.id)
      expect(record).toMatchObject({ state: 'unknown', reason: 'who knows', attempts: 1 })
      expect(record?.uncertainSince).toBeInstanceOf(Date)
      expect(await claimMessages(store)).toEqual([])
    })

    test('an unknown message is sent again, confirmed or discarded, as a person decides', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { key: 'again' }, { key: 'arrived' }, { key: 'unwanted' })
      const claimed = await claimMessages(store)
      await store.settleMessages(claimed.map(unknownMessage))
      const idOf = (key: string) => claimed.find((message) => message.key === key)!.id

      expect(await store.retryMessage(idOf('again'))).toBe(true)
      expect(await store.confirmMessage(idOf('arrived'))).toBe(true)
      expect(await store.discardMessage(idOf('unwanted'))).toBe(true)

      expect(await claimOne(store)).toMatchObject({ key: 'again', uncertainForMs: undefined })
      expect((await store.findMessage(idOf('arrived')))?.state).toBe('sent')
      expect((await store.findMessage(idOf('unwanted')))?.state).toBe('discarded')
    })

    test('a message that waits can be discarded, one on its way or sent cannot', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { key: 'a' })
      const onItsWay = await claimOne(store)
      await enqueue(store, { key: 'b', delayMs: 3_600_000 })
      const [waiting] = await store.listMessages({ state: 'ready', limit: 10 })

      expect(await store.discardMessage(waiting!.id)).toBe(true)
      expect((await store.findMessage(waiting!.id))?.state).toBe('discarded')
      expect(await store.discardMessage(onItsWay.id)).toBe(false)
      await store.settleMessages([sent(onItsWay)])
      expect(await store.discardMessage(onItsWay.id)).toBe(false)
      expect(await store.retryMessage(onItsWay.id)).toBe(false)
    })

    test('a message whose lease has ended can be discarded, and may have been sent', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const { id } = await claimOne(store, { leaseMs: 0 })

      expect(await store.discardMessage(id)).toBe(true)

      const message = await store.findMessage(id)
      expect(message?.state).toBe('discarded')
      expect(message?.uncertainSince).toBeInstanceOf(Date)
    })

    test('messages are listed by state and destination, latest first', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { key: 'a' }, { key: 'b' }, { key: 'c', destination: 'mail' })
      await enqueue(store, { key: 'd' })
      const keys = async (state: 'ready' | 'sending' | 'sent', destination?: string) =>
        (await store.listMessages({ state, destination, limit: 10 })).map(({ key }) => key)

      expect(await keys('ready', 'receipts')).toEqual(['d', 'b', 'a'])
      expect(await keys('ready')).toEqual(['d', 'c', 'b', 'a'])
      const claimed = await claimMessages(store)
      expect(await keys('sending')).toEqual(['d', 'b', 'a'])
      await store.settleMessages(claimed.map(sent))
      expect(await keys('sent', 'receipts')).toEqual(['d', 'b', 'a'])
      expect(await store.listMessages({ state: 'sent', limit: 1 })).toHaveLength(1)
    })

    test('a message that is not here is not found, and nothing can be done to it', async () => {
      const { store } = await openStore(underTest)

      expect(await store.findMessage(NO_ID)).toBeUndefined()
      expect(await store.findMessage('nonsense')).toBeUndefined()
      for (const id of [NO_ID, 'nonsense']) {
        expect(await store.retryMessage(id)).toBe(false)
        expect(await store.confirmMessage(id)).toBe(false)
        expect(await store.discardMessage(id)).toBe(false)
      }
    })
  })
}
