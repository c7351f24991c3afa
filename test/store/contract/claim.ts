import { describe, expect, test, vi } from 'vitest'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import {
  claim,
  DEADLINE_MS,
  done,
  nextDueInMs,
  recordOne,
  retryIn,
  runOne,
} from '../../support/store-steps.ts'
import { lentTransactionContract } from './lent-transaction.ts'
import { lentWritesContract } from './lent-writes.ts'
import { savepointsContract } from './savepoints.ts'

const OTHER_SLOT = { workerId: 'worker-2', slot: 0 }

/** What every store must do when a worker asks for work, and with the transaction it lends. */
export function claimContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: claim`, () => {
    test('an empty queue has nothing to claim', async () => {
      const { store } = await openStore(underTest)

      expect(await store.queue.claim(aClaim())).toBeUndefined()
      expect(await nextDueInMs(store)).toBeUndefined()
    })

    test('events are claimed oldest first, no more than asked for', async () => {
      const { store } = await openStore(underTest)
      for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))

      const group = await claim(store, { limit: 2 })

      expect(group.events.map(({ key, attempt, crashes }) => [key, attempt, crashes])).toEqual([
        ['a', 1, 0],
        ['b', 1, 0],
      ])
      await group.abandon()
    })

    test('a claimed event carries the hash by which it is known', async () => {
      const { store } = await openStore(underTest)
      const draft = anEventDraft()
      await recordOne(store, draft)

      const group = await claim(store)

      expect(group.events.map(({ keyHash }) => keyHash)).toEqual([
        Buffer.from(draft.keyHash, 'latin1').toString('hex'),
      ])
      await group.abandon()
    })

    test('only the topics that were asked for are claimed, and the others are claimable', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      for (const type of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key: type, type }))

      const group = await claim(store, { of: [['stripe', 'b']] })
      await group.settle(group.events.map(done))
      await group.commit()

      expect(group.events.map(({ key }) => key)).toEqual(['b'])
      const rest = await claim(other, {
        slot: OTHER_SLOT,
        of: [
          ['stripe', 'c'],
          ['stripe', 'a'],
        ],
      })
      // In the order in which they were asked for, since it is whose turn it is.
      expect(rest.events.map(({ key }) => key)).toEqual(['c', 'a'])
      await rest.abandon()
    })

    test('with enough of one topic a claim goes on to no other', async () => {
      const { store } = await openStore(underTest)
      for (const key of ['a1', 'a2', 'b1', 'b2', 'c1'])
        await recordOne(store, anEventDraft({ key, type: key.slice(0, 1) }))

      const group = await claim(store, {
        enough: 3,
        of: [
          ['stripe', 'a'],
          ['stripe', 'b'],
          ['stripe', 'c'],
        ],
      })

      expect(group.events.map(({ key }) => key)).toEqual(['a1', 'a2', 'b1', 'b2'])
      await group.abandon()
    })

    test('of each topic no more is claimed than was asked for', async () => {
      const { store } = await openStore(underTest)
      for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])
        await recordOne(store, anEventDraft({ key, type: key.slice(0, 1) }))

      const group = await claim(store, {
        limit: 2,
        of: [
          ['stripe', 'a'],
          ['stripe', 'b'],
        ],
      })

      expect(group.events.map(({ key }) => key)).toEqual(['a1', 'a2', 'b1', 'b2'])
      await group.abandon()
    })

    if (underTest.capabilities.parallelGroups) {
      test('what was not asked for is claimable while the group is open', async () => {
        const { store, second } = await openStore(underTest)
        const other = await second()
        for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))

        const group = await claim(store, { limit: 1 })
        const beside = await claim(other, { slot: OTHER_SLOT })

        expect(group.events.map(({ key }) => key)).toEqual(['a'])
        expect(beside.events.map(({ key }) => key)).toEqual(['b'])
        await beside.abandon()
        await group.abandon()
      })
    }

    test('an event in an open group is not claimable by another worker', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft())
      const group = await claim(store)

      expect(await other.queue.claim(aClaim({ slot: OTHER_SLOT }))).toBeUndefined()

      await group.abandon()
    })

    test('an abandoned group gives its events back at once', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const { eventId } = await recordOne(store, anEventDraft())

      await (await claim(store)).abandon()

      const again = await claim(other, { slot: OTHER_SLOT })
      expect(again.events).toMatchObject([{ eventId, attempt: 1 }])
      await again.abandon()
    })

    test('a store that is closed with a group open gives its events back', async () => {
      const { database, store, second } = await openStore(underTest)
      const other = await second()
      const { eventId } = await recordOne(store, anEventDraft())
      const leaving = database.newStore()
      await leaving.open()
      await claim(leaving)

      await leaving.close()

      const again = await claim(other, { slot: OTHER_SLOT })
      expect(again.events).toMatchObject([{ eventId, attempt: 1 }])
      await again.abandon()
    })

    test('events that failed before are claimed as such, one at a time', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'a' }))
      await recordOne(store, anEventDraft({ key: 'b' }))
      await runOne(store, retryIn(0))
      await runOne(store, retryIn(0))

      expect(await store.queue.claim(aClaim({ kind: 'fresh' }))).toBeUndefined()
      const again = await claim(store, { kind: 'again', limit: 10 })

      expect(again.events).toMatchObject([{ key: 'a', attempt: 2 }])
      await again.abandon()
    })

    test('an event that waits for its retry is not due, and the wait is known', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      expect(await nextDueInMs(store)).toBe(0)
      await runOne(store, retryIn(3_600_000))

      expect(await store.queue.claim(aClaim({ kind: 'again' }))).toBeUndefined()
      const dueInMs = await nextDueInMs(store)
      expect(dueInMs).toBeGreaterThan(0)
      expect(dueInMs).toBeLessThanOrEqual(3_600_000)
    })

    test('a nudge makes a waiting event due, and does nothing to any other', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft({ key: 'a' }))
      await runOne(store, retryIn(3_600_000))
      const parked = await recordOne(store, anEventDraft({ key: undefined, body: 'keyless' }))

      await store.events.nudge(eventId)
      await store.events.nudge(parked.eventId)
      await store.events.nudge('00000000-0000-7000-8000-000000000000')

      const group = await claim(store, { kind: 'again' })
      expect(group.events).toMatchObject([{ eventId, attempt: 2 }])
      await group.abandon()
      expect(await store.operators.findEvent(parked.eventId)).toMatchObject({
        state: 'quarantined',
      })
    })

    test('a group left idle is ended, and its events are given back', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft())
      const group = await claim(store, { idleTimeoutMs: 1 })

      const again = await vi.waitFor(() => claim(other, { slot: OTHER_SLOT }), {
        timeout: DEADLINE_MS,
      })

      await expect(group.settle(group.events.map(done))).rejects.toThrow()
      // Not `ended`, which would blame the handler and stop its event for good.
      expect(group.status()).toBe('lost')
      expect((await group.commit()).status).not.toBe('committed')
      await group.abandon()
      expect(again.events).toHaveLength(1)
      await again.abandon()
    })
  })

  lentTransactionContract(underTest)
  lentWritesContract(underTest)
  savepointsContract(underTest)
  if (underTest.capabilities.opensLate) {
    lentTransactionContract(underTest, { opensLate: true })
    lentWritesContract(underTest, { opensLate: true })
    savepointsContract(underTest, { opensLate: true })
  }
}
