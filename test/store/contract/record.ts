import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, dead, DEADLINE_MS, done, recordOne, runOne } from '../../support/store-steps.ts'
import { recordBytesContract } from './record-bytes.ts'
import { recordRequestsContract } from './record-requests.ts'
import { recordVariantsContract } from './record-variants.ts'

/** What every store must do when deliveries are recorded. Run by `test/contract/<engine>.test.ts`. */
export function recordContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record`, () => {
    test('the first delivery of an event makes an event', async () => {
      const { store } = await openStore(underTest)

      const recorded = await recordOne(store, anEventDraft({ key: 'evt_1' }))

      expect(recorded.status).toBe('accepted')
      expect(await store.operators.countEvents('stripe')).toBe(1)
      expect(await store.operators.findEvent(recorded.eventId)).toMatchObject({
        key: 'evt_1',
        state: 'ready',
      })
    })

    test('twenty deliveries of one event at once make one event', async () => {
      const { store } = await openStore(underTest)
      const draft = anEventDraft()

      const results = await Promise.all(Array.from({ length: 20 }, () => recordOne(store, draft)))

      expect(results.filter(({ status }) => status === 'accepted')).toHaveLength(1)
      expect(results.filter(({ status }) => status === 'duplicate')).toHaveLength(19)
      expect(new Set(results.map(({ eventId }) => eventId)).size).toBe(1)
      expect(await store.operators.countEvents()).toBe(1)
    })

    test('the same delivery at two stores at once makes one event', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()

      for (let round = 0; round < 10; round += 1) {
        const draft = anEventDraft({ key: `evt_${round}` })
        const results = await Promise.all([recordOne(store, draft), recordOne(other, draft)])
        expect(results.map(({ status }) => status).sort()).toEqual(['accepted', 'duplicate'])
      }
      expect(await store.operators.countEvents()).toBe(10)
    })

    test('the same key from two sources makes two events', async () => {
      const { store } = await openStore(underTest)

      const first = await recordOne(store, anEventDraft({ source: 'stripe', key: '1' }))
      const second = await recordOne(store, anEventDraft({ source: 'github', key: '1' }))

      expect([first.status, second.status]).toEqual(['accepted', 'accepted'])
      expect(await store.operators.countEvents('github')).toBe(1)
    })

    test('a batch is answered in its order, whatever becomes of each draft', async () => {
      const { store } = await openStore(underTest)
      const known = await recordOne(store, anEventDraft({ key: 'known' }))
      const keys = ['z', 'known', 'a', 'm']

      const recorded = await store.events.record(
        keys.map((key) => anEventDraft({ key })),
        { deadlineMs: DEADLINE_MS },
      )

      expect(recorded.map(({ status }) => status)).toEqual([
        'accepted',
        'duplicate',
        'accepted',
        'accepted',
      ])
      expect(recorded[1]?.eventId).toBe(known.eventId)
      const events = await Promise.all(
        recorded.map(({ eventId }) => store.operators.findEvent(eventId)),
      )
      expect(events.map((event) => event?.key)).toEqual(keys)
    })

    test('an empty batch has no answers', async () => {
      const { store } = await openStore(underTest)

      expect(await store.events.record([], { deadlineMs: DEADLINE_MS })).toEqual([])
    })

    // The sender must not wait for as long as a handler runs to hear that we have the event.
    test('a duplicate is answered while a group holds the event', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const first = await recordOne(store, anEventDraft())
      const group = await claim(store)
      await group.settle(group.events.map(done))

      const again = await recordOne(store, anEventDraft())
      const elsewhere = await recordOne(other, anEventDraft())

      expect(again).toEqual({ status: 'duplicate', eventId: first.eventId })
      expect(elsewhere).toEqual({ status: 'duplicate', eventId: first.eventId })
      expect(await group.commit()).toEqual({ status: 'committed' })
    })

    test('a redelivery of an event that is done is a duplicate', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)

      expect(await recordOne(store, anEventDraft())).toEqual({ status: 'duplicate', eventId })
      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'done' })
    })

    if (underTest.capabilities.recordsBesideGroup) {
      test('a new event is stored while a group is open', async () => {
        const { store } = await openStore(underTest)
        await recordOne(store, anEventDraft({ key: 'held' }))
        const group = await claim(store)

        expect(await recordOne(store, anEventDraft({ key: 'new' }))).toMatchObject({
          status: 'accepted',
        })

        await group.abandon()
      })
    } else {
      test('a new event that cannot wait for the open group is refused, and is not stored later', async () => {
        const { store } = await openStore(underTest)
        await recordOne(store, anEventDraft({ key: 'held' }))
        const group = await claim(store)
        const fresh = anEventDraft({ key: 'new' })

        await expect(store.events.record([fresh], { deadlineMs: 1 })).rejects.toMatchObject({
          code: 'STORE_UNAVAILABLE',
        })

        await group.abandon()
        expect(await recordOne(store, fresh)).toMatchObject({ status: 'accepted' })
      })
    }
  })

  revivals(underTest)
  recordVariantsContract(underTest)
  recordBytesContract(underTest)
  recordRequestsContract(underTest)
}

function revivals(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, a dead event delivered again`, () => {
    test("is queued again under 'retry', with its attempts at zero", async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      const again = await recordOne(store, anEventDraft({ redelivery: 'retry' }))

      expect(again).toEqual({ status: 'revived', eventId })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        attempts: 0,
        outcome: undefined,
      })
      expect((await claim(store)).events).toMatchObject([{ eventId, attempt: 1 }])
    })

    test('is revived by one of many deliveries at once', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft())
      await runOne(store, dead)

      const results = await Promise.all(
        [store, other, store, other].map((s) => recordOne(s, anEventDraft())),
      )

      expect(results.map(({ status }) => status).sort()).toEqual([
        'duplicate',
        'duplicate',
        'duplicate',
        'revived',
      ])
    })

    test("stays dead under 'count'", async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      expect(await recordOne(store, anEventDraft({ redelivery: 'count' }))).toEqual({
        status: 'duplicate',
        eventId,
      })
      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'dead' })
    })
  })
}
