import { describe, expect, test } from 'vitest'
import {
  again,
  claimMessages,
  claimOne,
  deadMessage,
  enqueue,
  sent,
  unknownMessage,
} from '../../support/outbox-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

/** What every store must do when messages are claimed and settled. */
export function outboxClaimContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: claim messages`, () => {
    test('a claimed message is as it was written', async () => {
      const { store } = await openStore(underTest)
      const body = Buffer.from([0, 255, 10, 13])
      const eventId = '01900000-0000-7000-8000-000000000001'
      await enqueue(store, { body, headers: { 'x-one': '1' }, contentType: 'text/plain', eventId })

      const message = await claimOne(store)

      expect(message).toMatchObject({
        destination: 'receipts',
        key: 'key_1',
        contentType: 'text/plain',
        headers: { 'x-one': '1' },
        eventId,
        attempt: 1,
        uncertainForMs: undefined,
        answer: undefined,
        sameAnswers: 0,
      })
      expect(Buffer.from(message.body).equals(body)).toBe(true)
      expect(message.createdAt).toBeInstanceOf(Date)
    })

    test('no more of a destination is claimed than asked for, and of others nothing', async () => {
      const { store } = await openStore(underTest)
      await enqueue(
        store,
        ...Array.from({ length: 6 }, (_, i) => ({ key: `a${i}` })),
        { key: 'b', destination: 'mail' },
        { key: 'c', destination: 'other' },
      )

      const claimed = await store.messages.claim({
        wanted: [
          { destination: 'receipts', limit: 4 },
          { destination: 'mail', limit: 4 },
        ],
        leaseMs: 60_000,
      })

      expect(claimed.map(({ destination }) => destination).sort()).toEqual([
        'mail',
        ...Array.from({ length: 4 }, () => 'receipts'),
      ])
      expect(await store.messages.claim({ wanted: [], leaseMs: 60_000 })).toEqual([])
    })

    test('two that claim at once never get the same message', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await enqueue(store, ...Array.from({ length: 60 }, (_, i) => ({ key: `k${i}` })))

      const claimed = await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          claimMessages(i % 2 === 0 ? store : other, { limit: 7 }),
        ),
      )

      const keys = claimed.flat().map(({ key }) => key)
      expect(new Set(keys).size).toBe(keys.length)
      expect(keys.length).toBe(60)
    })

    test('a message that is to wait is not due before its time', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { delayMs: 3_600_000 })

      expect(await claimMessages(store)).toEqual([])
      expect(await store.messages.nextDueInMs(['receipts'], 3_600_000)).toBeGreaterThan(3_000_000)
      expect(await store.messages.nextDueInMs(['receipts'], 60_000)).toBeUndefined()
      expect(await store.messages.nextDueInMs(['mail'], 3_600_000)).toBeUndefined()
    })

    test('a leased message is due again when its lease ends, and uncertain since it was claimed', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const first = await claimOne(store, { leaseMs: 0 })

      const second = await claimOne(store)

      expect(second.attempt).toBe(2)
      expect(second.uncertainForMs).toBeGreaterThanOrEqual(0)
      expect(BigInt(second.token)).toBeGreaterThan(BigInt(first.token))
      expect(await claimMessages(store)).toEqual([])
    })

    test('what a relay says that has lost its lease does not count', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const lost = await claimOne(store, { leaseMs: 0 })
      const held = await claimOne(store)

      for (const settlement of [sent(lost), again(lost), deadMessage(lost), unknownMessage(lost)])
        expect(await store.messages.settle([settlement])).toEqual(new Set())
      expect((await store.messages.find(held.id))?.state).toBe('sending')

      expect(await store.messages.settle([sent(held)])).toEqual(new Set([held.token]))
      expect(await store.messages.settle([sent(held)])).toEqual(new Set())
    })

    test('in a batch those that lost their lease are left out and the others settled', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, { key: 'a' })
      const lost = await claimOne(store, { leaseMs: 0 })
      await enqueue(store, { key: 'b' }, { key: 'c' }, { key: 'd' })
      const held = (await claimMessages(store)).filter(({ key }) => key !== 'a')

      const settled = await store.messages.settle([sent(lost), ...held.map(sent)])

      expect([...settled].sort()).toEqual(held.map(({ token }) => token).sort())
    })

    // A relay that was slow to write may have claimed the message again itself.
    test('of two that speak of one message in a batch, the one with the lease counts', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const lost = await claimOne(store, { leaseMs: 0 })
      const held = await claimOne(store)

      expect(await store.messages.settle([sent(lost), again(held)])).toEqual(new Set([held.token]))

      expect(await store.messages.find(held.id)).toMatchObject({ state: 'ready', attempts: 2 })
    })

    test('doubt begins with the claim, stays through other failures, and is cleared when asked', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const isUncertain = async () => {
        const message = await claimOne(store)
        return { message, isUncertain: message.uncertainForMs !== undefined }
      }

      const first = await isUncertain()
      await store.messages.settle([again(first.message, { doubt: 'keep' })])
      const second = await isUncertain()
      await store.messages.settle([again(second.message, { doubt: 'since-claim' })])
      const third = await isUncertain()
      const { uncertainSince } = (await store.messages.find(third.message.id))!
      await store.messages.settle([again(third.message, { doubt: 'keep' })])
      const fourth = await isUncertain()
      await store.messages.settle([again(fourth.message, { doubt: 'since-claim' })])
      const fifth = await isUncertain()

      expect([first, second, third, fourth, fifth].map((each) => each.isUncertain)).toEqual([
        false,
        false,
        true,
        true,
        true,
      ])
      // Since the first time, and not since the last.
      expect((await store.messages.find(fifth.message.id))?.uncertainSince).toEqual(uncertainSince)
      await store.messages.settle([again(fifth.message, { doubt: 'cleared' })])
      expect((await isUncertain()).isUncertain).toBe(false)
    })

    test('a failed attempt is counted and kept with its answer', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const message = await claimOne(store)

      await store.messages.settle([
        again(message, { retryInMs: 3_600_000, answer: 'x', sameAnswers: 2 }),
      ])

      expect(await claimMessages(store)).toEqual([])
      const record = await store.messages.find(message.id)
      expect(record).toMatchObject({ state: 'ready', attempts: 1, outcome: undefined })
      expect(record?.failures).toMatchObject([
        { attempt: 1, reason: 'refused', message: 'answered 500', durationMs: 7 },
      ])
      expect(record?.failures[0]?.response).toMatchObject({ status: 500, head: 'x: 1' })
      expect(Buffer.from(record!.failures[0]!.response!.body)).toEqual(Buffer.from([0, 255, 10]))
    })

    test('the last answer and how often it came are there for the next attempt', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})

      await store.messages.settle([again(await claimOne(store), { answer: 'x', sameAnswers: 2 })])

      expect(await claimOne(store)).toMatchObject({ answer: 'x', sameAnswers: 2, attempt: 2 })
    })

    test('a message that is given back has cost no attempt and is in no more doubt than before', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const { id, token } = await claimOne(store)

      await store.messages.settle([{ id, token, state: 'given-back', retryInMs: 0 }])

      expect(await claimOne(store)).toMatchObject({ attempt: 1, uncertainForMs: undefined })
    })

    test('sent keeps the answer', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      const message = await claimOne(store)

      await store.messages.settle([sent(message)])

      const record = await store.messages.find(message.id)
      expect(record).toMatchObject({
        state: 'sent',
        attempts: 1,
        sendAt: undefined,
        uncertainSince: undefined,
        outcome: { state: 'sent', response: { status: 201, head: 'content-type: text/plain' } },
      })
      expect(Buffer.from(record!.outcome!.response!.body).toString()).toBe('thanks')
      expect(await store.messages.nextDueInMs(['receipts'], 60_000)).toBeUndefined()
    })

    test('a message that was sent is not written again under its key', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, {})
      await store.messages.settle([sent(await claimOne(store))])

      await enqueue(store, {})

      expect(await claimMessages(store)).toEqual([])
    })
  })
}
