import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { act, claim, dead, done, recordOne, runOne } from '../../support/store-steps.ts'

const UNKNOWN = '00000000-0000-7000-8000-000000000000'

/** What every store must do for the people who look after it, and for the memory of the receivers. */
export function operatorsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: operators`, () => {
    test('an event that is not here is not found', async () => {
      const { store } = await openStore(underTest)

      expect(await store.operators.findEvent(UNKNOWN)).toBeUndefined()
      expect(await store.operators.listEventsByKey('stripe', 'evt_1')).toEqual([])
      expect(await store.operators.countEvents()).toBe(0)
    })

    test('events are counted by source', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ source: 'stripe', key: 'a' }))
      await recordOne(store, anEventDraft({ source: 'stripe', key: 'b' }))
      await recordOne(store, anEventDraft({ source: 'github', key: 'a' }))

      expect(await store.operators.countEvents()).toBe(3)
      expect(await store.operators.countEvents('stripe')).toBe(2)
      expect(await store.operators.countEvents('shopify')).toBe(0)
    })

    test('deliveries add up', async () => {
      const { store, second } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())

      await store.events.countDeliveries([{ eventId, outcome: 'duplicate', count: 3 }])
      await (await second()).events.countDeliveries([{ eventId, outcome: 'duplicate', count: 2 }])
      await store.events.countDeliveries([])

      expect(await store.operators.findEvent(eventId)).toMatchObject({ deliveries: 6 })
    })

    test('a forgotten event is accepted afresh when it is delivered again', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const first = await recordOne(store, anEventDraft())
      await runOne(store, done)
      expect(await recordOne(other, anEventDraft())).toMatchObject({ status: 'duplicate' })

      expect(await act(store, 'forget', first.eventId)).toMatchObject({ status: 'done' })

      const again = await recordOne(other, anEventDraft())
      expect(again.status).toBe('accepted')
      expect(again.eventId).not.toBe(first.eventId)
      expect(await recordOne(store, anEventDraft())).toEqual({
        status: 'duplicate',
        eventId: again.eventId,
      })
    })

    test('forgetting changes the epoch for every process', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)
      const before = await other.events.beat(undefined)
      expect((await other.events.beat(before.now)).epoch).toBe(before.epoch)

      await act(store, 'forget', eventId)

      expect((await other.events.beat(before.now)).epoch).not.toBe(before.epoch)
    })

    test('forgetting drops the content and every key of an event', async () => {
      const { store } = await openStore(underTest)
      const policy = { sameBytes: 'duplicate' } as const
      const { eventId } = await recordOne(store, anEventDraft({ key: 'a', ...policy }))
      await recordOne(store, anEventDraft({ key: 'b', ...policy }))
      await runOne(store, done)

      await act(store, 'forget', eventId)

      expect(await recordOne(store, anEventDraft({ key: 'b', ...policy }))).toMatchObject({
        status: 'accepted',
      })
    })

    test('dead events are listed, latest first', async () => {
      const { store } = await openStore(underTest)
      const ids: string[] = []
      for (const key of ['a', 'b', 'c']) {
        await recordOne(store, anEventDraft({ key }))
        ids.unshift(await runOne(store, dead))
      }

      expect((await store.operators.listDead(10)).map(({ id }) => id)).toEqual(ids)
      expect((await store.operators.listDead(2)).map(({ id }) => id)).toEqual(ids.slice(0, 2))
      expect(await store.operators.listDead(1)).toMatchObject([
        { key: 'c', state: 'dead', reason: 'gave up' },
      ])
    })

    test('a dead event is retried with its attempts at zero and its failures on record', async () => {
      const { store, second } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const eventId = await runOne(store, dead)

      expect(await act(await second(), 'retry', eventId)).toMatchObject({ status: 'done', run: 0 })

      expect(await store.operators.listDead(10)).toEqual([])
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        attempts: 0,
        failures: [{ attempt: 1 }],
      })
      const group = await claim(store)
      expect(group.events).toMatchObject([{ eventId, attempt: 1 }])
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'done' })
    })

    test('a beat tells of the events that died since the last one', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft({ key: 'fine' }))
      await runOne(store, done)
      await recordOne(store, anEventDraft())
      const { now } = await other.events.beat(undefined)

      const eventId = await runOne(store, dead)

      expect((await other.events.beat(now)).died).toEqual([eventId])
    })

    // The time of a death is taken before its commit, which a slow disk may hold up.
    test('a beat looks back a minute beyond the last one', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const eventId = await runOne(store, dead)
      const { now } = await store.events.beat(undefined)
      const later = (ms: number) => store.events.beat(new Date(now.getTime() + ms))

      expect((await later(30_000)).died).toEqual([eventId])
      expect((await later(61_000)).died).toEqual([])
    })

    test('a store that is closed refuses, and can be closed again', async () => {
      const { database } = await openStore(underTest)
      const closed = database.newStore()
      await closed.open()
      await closed.close()

      await expect(recordOne(closed, anEventDraft())).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      })
      await closed.close()
    })

    test('upkeep and signals are safe to call at any time', async () => {
      const { store } = await openStore(underTest)
      const stop = await store.queue.listen(() => {})

      await store.queue.notify()
      await store.maintain()
      await stop()

      expect(await recordOne(store, anEventDraft())).toMatchObject({ status: 'accepted' })
    })
  })
}
