import { describe, expect, test } from 'vitest'
import type { MessageDraft } from '../../../src/model/message.ts'
import { messageLaneIdOf } from '../../../src/model/message-lane.ts'
import type { ClaimedMessage, MessageAction } from '../../../src/store/contract/messages.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { Random } from '../../support/faults/random.ts'
import {
  again,
  claimMessages,
  claimOne,
  deadMessage,
  enqueue,
  listMessages,
  sent,
  unknownMessage,
} from '../../support/outbox-steps.ts'
import { NO_ORDER } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

/** What every store must do with messages that are in lanes. */
export function outboxLanesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: lanes of messages`, () => {
    test('one of a lane is claimed at a time, in the order written; other lanes and those without one go on', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('z', 'A'), inLane('y', 'A'), inLane('x', 'B'), { key: 'free' })
      await enqueue(store, inLane('a', 'A'))

      const first = await claimMessages(store)
      expect(keysOf(first)).toEqual(['free', 'x', 'z'])
      expect(await claimMessages(store)).toEqual([])
      await store.messages.settle(first.map(sent))

      const second = await claimOne(store)
      expect(second.key).toBe('y')
      await store.messages.settle([sent(second)])
      expect((await claimOne(store)).key).toBe('a')
    })

    test('the same lane of two destinations is two lanes', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('a', 'A'), inLane('b', 'A', { destination: 'mail' }))

      expect(keysOf(await claimMessages(store))).toEqual(['a'])
      expect(keysOf(await claimMessages(store, { destination: 'mail' }))).toEqual(['b'])
    })

    test('one that is tried again later holds up its lane, and nothing else', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('a', 'A'), inLane('b', 'A'), inLane('c', 'B'))
      const claimed = await claimMessages(store)

      await store.messages.settle(
        claimed.map((each) =>
          each.key === 'a' ? again(each, { retryInMs: 3_600_000 }) : sent(each),
        ),
      )
      await enqueue(store, { key: 'free' })

      expect(keysOf(await claimMessages(store))).toEqual(['free'])
    })

    test('a lease that has ended is taken over before the lane goes on', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('a', 'A'), inLane('b', 'A'))
      await claimOne(store, { leaseMs: 0 })

      const taken = await claimOne(store)

      expect(taken).toMatchObject({ key: 'a', attempt: 2 })
      await store.messages.settle([sent(taken)])
      expect((await claimOne(store)).key).toBe('b')
    })

    test.each(['discardMessage', 'confirmMessage', 'retryMessage'] as const)(
      'one that is unknown blocks its lane and says how many, until %s',
      async (action) => {
        const { store } = await openStore(underTest)
        await enqueue(store, inLane('a', 'A'), inLane('b', 'A'), inLane('c', 'A'))
        const blocking = await claimOne(store)
        await store.messages.settle([unknownMessage(blocking)])

        expect(await claimMessages(store)).toEqual([])
        expect(await store.messages.find(blocking.id)).toMatchObject({ lane: 'A', holdsUp: 2 })
        const waiting = await listMessages(store, { state: 'ready', limit: 10 })
        expect(waiting.map(({ blockedBy }) => blockedBy)).toEqual([blocking.id, blocking.id])
        expect(await decide(store, action, blocking.id)).toBe(true)

        const next = await claimOne(store)
        expect(next.key).toBe(action === 'retryMessage' ? 'a' : 'b')
        expect((await store.messages.find(blocking.id))?.holdsUp).toBe(0)
      },
    )

    test('one that is dead blocks its lane, or lets it pass', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('a', 'A'), inLane('b', 'A'), inLane('c', 'B'), inLane('d', 'B'))
      const claimed = await claimMessages(store)

      await store.messages.settle(claimed.map((each) => deadMessage(each, each.key === 'a')))

      expect(keysOf(await claimMessages(store))).toEqual(['d'])
    })

    test('one that is written behind a dead one waits, until a person has decided', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('a', 'A'))
      const blocking = await claimOne(store)
      await store.messages.settle([deadMessage(blocking, true)])
      await enqueue(store, inLane('b', 'A'))

      expect(await claimMessages(store)).toEqual([])
      expect(await decide(store, 'discardMessage', blocking.id)).toBe(true)
      expect((await claimOne(store)).key).toBe('b')
    })

    test('one that is retried waits for the one that has passed it and is on its way', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('a', 'A'), inLane('b', 'A'))
      const first = await claimOne(store)
      await store.messages.settle([deadMessage(first, false)])
      const passing = await claimOne(store)

      expect(await decide(store, 'retryMessage', first.id)).toBe(true)
      expect(await claimMessages(store)).toEqual([])
      await store.messages.settle([again(passing)])

      const [next, ...others] = await claimMessages(store)
      expect(next?.key).toBe('a')
      expect(others).toEqual([])
    })

    test('relays that claim and settle at the same time leave none behind, and keep the order', async () => {
      const opened = await openStore(underTest)
      const stores = [opened.store, await opened.second()]
      const written = Array.from({ length: 30 }, (_, i) => `k${i}`)
      await enqueue(opened.store, ...written.map((key) => inLane(key, 'A')))
      const arrived: string[] = []
      let looks = 0
      const relay = async (store: Store<QueryTx>): Promise<void> => {
        // The limit turns a lane that stays shut into a failure. A look that found nothing leaves the others time.
        while (arrived.length < written.length && looks < 10_000) {
          looks += 1
          const claimed = await claimMessages(store, { limit: 3 })
          if (claimed.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
          expect(claimed.length).toBeLessThanOrEqual(1)
          arrived.push(...claimed.map(({ key }) => key))
          await store.messages.settle(claimed.map(sent))
        }
      }

      await Promise.all([...stores, ...stores].map(relay))

      expect(arrived).toEqual(written)
    })

    test('one that waits can be discarded, and the lane goes on behind the first', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, inLane('a', 'A'), inLane('b', 'A'), inLane('c', 'A'))
      const first = await claimOne(store)
      expect(await claimMessages(store)).toEqual([])
      const waiting = await listMessages(store, { state: 'ready', limit: 10 })
      const second = waiting.find(({ key }) => key === 'b')

      expect(await decide(store, 'discardMessage', second!.id)).toBe(true)
      expect(await claimMessages(store)).toEqual([])
      await store.messages.settle([sent(first)])

      expect((await claimOne(store)).key).toBe('c')
    })

    // What a claim looks at is counted by what it finds behind them, not by a clock.
    test('hundreds that wait in their lanes stand in front of none', async () => {
      const { store } = await openStore(underTest)
      await enqueue(store, ...Array.from({ length: 300 }, (_, i) => inLane(`w${i}`, 'A')))
      await claimMessages(store, { limit: 1 })
      await enqueue(store, { key: 'free' })
      const found: string[] = []
      for (let looks = 0; looks < 10 && found.length === 0; looks += 1)
        found.push(...keysOf(await claimMessages(store, { limit: 40 })))
      await enqueue(store, { key: 'next' })

      expect(found).toEqual(['free'])
      // From now on not one of them is met.
      expect(keysOf(await claimMessages(store, { limit: 1 }))).toEqual(['next'])
    })

    test.each([1, 2, 3])(
      'whatever fails and dies, the first arrivals of each lane are in the order written (seed %i)',
      async (seed) => {
        const opened = await openStore(underTest)
        const stores = [opened.store, await opened.second()]
        const random = new Random(seed)
        const written = Array.from({ length: 40 }, (_, i) => ({ key: `k${i}`, lane: i % 5 }))
        for (let i = 0; i < written.length; i += 4)
          await enqueue(
            opened.store,
            ...written.slice(i, i + 4).map(({ key, lane }) => inLane(key, `lane ${lane}`)),
          )

        const arrived: string[] = []
        const done = new Set<string>()
        for (let turn = 0; done.size < written.length && turn < 2_000; turn += 1) {
          const claimed = await Promise.all(
            stores.map((store) => claimMessages(store, relayOf(random))),
          )
          // A lease that has ended may be another's by now: the message is the same.
          const keys = [...new Set(claimed.flat().map(({ key }) => key))]
          const flying = keys.map((key) => laneOf(written, key))
          expect(new Set(flying).size).toBe(flying.length)
          for (const [index, messages] of claimed.entries())
            for (const message of messages) {
              if (!arrived.includes(message.key)) arrived.push(message.key)
              await settleSomehow(stores[index]!, random, message, done)
            }
        }

        expect(done.size).toBe(written.length)
        for (const lane of [0, 1, 2, 3, 4])
          expect(arrived.filter((key) => laneOf(written, key) === lane)).toEqual(
            written.filter((each) => each.lane === lane).map(({ key }) => key),
          )
      },
    )
  })
}

function inLane(
  key: string,
  name: string,
  draft: Partial<MessageDraft> = {},
): Partial<MessageDraft> {
  const { destination = 'receipts' } = draft
  return { ...draft, key, destination, lane: { id: messageLaneIdOf(destination, name), name } }
}

function keysOf(messages: readonly ClaimedMessage[]): readonly string[] {
  return messages.map(({ key }) => key).sort()
}

function laneOf(written: readonly { key: string; lane: number }[], key: string): number {
  return written.find((each) => each.key === key)?.lane ?? -1
}

async function decide(store: Store<QueryTx>, action: MessageAction, id: string): Promise<boolean> {
  return (await store.messages.decide(action, id, NO_ORDER)).status === 'done'
}

/** Some relays die as soon as they have claimed: their leases have ended when the next one looks. */
function relayOf(random: Random): { limit: number; leaseMs: number } {
  return {
    limit: random.between(1, 6),
    leaseMs: random.next() < 0.2 ? 0 : 3_600_000,
  }
}

/** Sent, tried again, given back, or dead and retried by a person. What a relay without its lease says changes nothing. */
async function settleSomehow(
  store: Store<QueryTx>,
  random: Random,
  message: ClaimedMessage,
  done: Set<string>,
): Promise<void> {
  const { id, token, key } = message
  const kind = random.next()
  if (kind < 0.2) await store.messages.settle([again(message)])
  else if (kind < 0.3)
    await store.messages.settle([{ id, token, state: 'given-back', retryInMs: 0 }])
  else if (kind < 0.4) {
    const settled = await store.messages.settle([deadMessage(message)])
    if (settled.size === 1) await decide(store, 'retryMessage', id)
  } else if ((await store.messages.settle([sent(message)])).size === 1) done.add(key)
}
