import assert from 'node:assert/strict'
import { assertMatches, assertAbove, assertAtLeast, required } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import {
  again,
  claimMessages,
  claimOne,
  deadMessage,
  enqueue,
  sent,
  unknownMessage,
} from '../steps/outbox-steps.ts'

export const messageCases: readonly StoreCase[] = [
  ...casesOf('claim messages', [
    {
      name: 'a claimed message is as it was written',
      run: async (open) => {
        const { store } = await open()
        const body = Buffer.from([0, 255, 10, 13])
        const eventId = '01900000-0000-7000-8000-000000000001'
        await enqueue(store, {
          body,
          headers: { 'x-one': '1' },
          contentType: 'text/plain',
          eventId,
        })

        const message = await claimOne(store)

        assertMatches(message, {
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
        assert.equal(Buffer.from(message.body).equals(body), true)
        assert.ok(message.createdAt instanceof Date)
      },
    },

    {
      name: 'no more of a destination is claimed than asked for, and of others nothing',
      run: async (open) => {
        const { store } = await open()
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

        assert.deepEqual(claimed.map(({ destination }) => destination).sort(), [
          'mail',
          ...Array.from({ length: 4 }, () => 'receipts'),
        ])
        assert.deepEqual(await store.messages.claim({ wanted: [], leaseMs: 60_000 }), [])
      },
    },

    {
      name: 'two that claim at once never get the same message',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        await enqueue(store, ...Array.from({ length: 60 }, (_, i) => ({ key: `k${i}` })))

        const claimed = await Promise.all(
          Array.from({ length: 12 }, (_, i) =>
            claimMessages(i % 2 === 0 ? store : other, { limit: 7 }),
          ),
        )

        const keys = claimed.flat().map(({ key }) => key)
        assert.equal(new Set(keys).size, keys.length)
        assert.equal(keys.length, 60)
      },
    },

    {
      name: 'a message that is to wait is not due before its time',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, { delayMs: 3_600_000 })

        assert.deepEqual(await claimMessages(store), [])
        assertAbove(await store.messages.nextDueInMs(['receipts'], 3_600_000), 3_000_000)
        assert.equal(await store.messages.nextDueInMs(['receipts'], 60_000), undefined)
        assert.equal(await store.messages.nextDueInMs(['mail'], 3_600_000), undefined)
      },
    },

    {
      name: 'a leased message is due again when its lease ends, and uncertain since it was claimed',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const first = await claimOne(store, { leaseMs: 0 })

        const second = await claimOne(store)

        assert.equal(second.attempt, 2)
        assertAtLeast(second.uncertainForMs, 0)
        assertAbove(BigInt(second.token), BigInt(first.token))
        assert.deepEqual(await claimMessages(store), [])
      },
    },

    {
      name: 'what is taken over from a relay that is gone is a takeover, and so is nothing else',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const counts = async (options: { leaseMs?: number } = {}) => {
          const message = await claimOne(store, options)
          const { attempt, takeovers } = message
          return { message, counts: [attempt, takeovers] }
        }

        const first = await counts()
        await store.messages.settle([again(first.message)])
        const second = await counts({ leaseMs: 0 })
        const third = await counts({ leaseMs: 0 })
        const fourth = await counts()
        const { id, token } = fourth.message
        await store.messages.settle([{ id, token, state: 'given-back', retryInMs: 0 }])
        const fifth = await counts()

        assert.deepEqual(
          [first, second, third, fourth, fifth].map((each) => each.counts),
          [
            [1, 0],
            [2, 0],
            [3, 1],
            [4, 2],
            [4, 2],
          ],
        )
      },
    },

    {
      name: 'what a relay says that has lost its lease does not count',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const lost = await claimOne(store, { leaseMs: 0 })
        const held = await claimOne(store)

        for (const settlement of [sent(lost), again(lost), deadMessage(lost), unknownMessage(lost)])
          assert.deepEqual(await store.messages.settle([settlement]), new Set())
        assert.equal((await store.messages.find(held.id))?.state, 'sending')

        assert.deepEqual(await store.messages.settle([sent(held)]), new Set([held.token]))
        assert.deepEqual(await store.messages.settle([sent(held)]), new Set())
      },
    },

    {
      name: 'in a batch those that lost their lease are left out and the others settled',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, { key: 'a' })
        const lost = await claimOne(store, { leaseMs: 0 })
        await enqueue(store, { key: 'b' }, { key: 'c' }, { key: 'd' })
        const held = (await claimMessages(store)).filter(({ key }) => key !== 'a')

        const settled = await store.messages.settle([sent(lost), ...held.map(sent)])

        assert.deepEqual([...settled].sort(), held.map(({ token }) => token).sort())
      },
    },

    // A relay that was slow to write may have claimed the message again itself.
    {
      name: 'of two that speak of one message in a batch, the one with the lease counts',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const lost = await claimOne(store, { leaseMs: 0 })
        const held = await claimOne(store)

        assert.deepEqual(
          await store.messages.settle([sent(lost), again(held)]),
          new Set([held.token]),
        )

        assertMatches(await store.messages.find(held.id), { state: 'ready', attempts: 2 })
      },
    },

    {
      name: 'doubt begins with the claim, stays through other failures, and is cleared when asked',
      run: async (open) => {
        const { store } = await open()
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
        const { uncertainSince } = required(await store.messages.find(third.message.id))
        await store.messages.settle([again(third.message, { doubt: 'keep' })])
        const fourth = await isUncertain()
        await store.messages.settle([again(fourth.message, { doubt: 'since-claim' })])
        const fifth = await isUncertain()

        assert.deepEqual(
          [first, second, third, fourth, fifth].map((each) => each.isUncertain),
          [false, false, true, true, true],
        )
        // Since the first time, and not since the last.
        assert.deepEqual(
          (await store.messages.find(fifth.message.id))?.uncertainSince,
          uncertainSince,
        )
        await store.messages.settle([again(fifth.message, { doubt: 'cleared' })])
        assert.equal((await isUncertain()).isUncertain, false)
      },
    },

    {
      name: 'a failed attempt is counted and kept with its answer',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const message = await claimOne(store)

        await store.messages.settle([
          again(message, { retryInMs: 3_600_000, answer: 'x', sameAnswers: 2 }),
        ])

        assert.deepEqual(await claimMessages(store), [])
        const record = await store.messages.find(message.id)
        assertMatches(record, { state: 'ready', attempts: 1, outcome: undefined })
        assertMatches(record?.failures, [
          { attempt: 1, reason: 'refused', message: 'answered 500', durationMs: 7 },
        ])
        assertMatches(record?.failures[0]?.response, { status: 500, head: 'x: 1' })
        assert.deepEqual(
          Buffer.from(required(record?.failures[0]?.response).body),
          Buffer.from([0, 255, 10]),
        )
      },
    },

    {
      name: 'the last answer and how often it came are there for the next attempt',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})

        await store.messages.settle([again(await claimOne(store), { answer: 'x', sameAnswers: 2 })])

        assertMatches(await claimOne(store), { answer: 'x', sameAnswers: 2, attempt: 2 })
      },
    },

    {
      name: 'a message that is given back has cost no attempt and is in no more doubt than before',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const { id, token } = await claimOne(store)

        await store.messages.settle([{ id, token, state: 'given-back', retryInMs: 0 }])

        assertMatches(await claimOne(store), { attempt: 1, uncertainForMs: undefined })
      },
    },

    {
      name: 'sent keeps the answer',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        const message = await claimOne(store)

        await store.messages.settle([sent(message)])

        const record = await store.messages.find(message.id)
        assertMatches(record, {
          state: 'sent',
          attempts: 1,
          sendAt: undefined,
          uncertainSince: undefined,
          outcome: { state: 'sent', response: { status: 201, head: 'content-type: text/plain' } },
        })
        assert.equal(Buffer.from(required(record?.outcome?.response).body).toString(), 'thanks')
        assert.equal(await store.messages.nextDueInMs(['receipts'], 60_000), undefined)
      },
    },

    {
      name: 'a message that was sent is not written again under its key',
      run: async (open) => {
        const { store } = await open()
        await enqueue(store, {})
        await store.messages.settle([sent(await claimOne(store))])

        await enqueue(store, {})

        assert.deepEqual(await claimMessages(store), [])
      },
    },
  ]),
]
