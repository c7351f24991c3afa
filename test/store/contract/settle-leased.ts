import { describe, expect, test } from 'vitest'
import type { LeasedEvent } from '../../../src/store/contract/steps.ts'
import { anEventDraft } from '../../support/builders.ts'
import { leaseAll, leaseOne, makeLeasable } from '../../support/lease-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, dead, done, recordOne, retryIn, unhandled } from '../../support/store-steps.ts'

/** What every store must do when an event is settled under its lease. */
export function settleLeasedContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: settling under a lease`, () => {
    test('a leased event is settled once, and only under its lease', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)
      const stale = { ...leased.lease, token: leased.lease.token + 1 }

      expect(await store.steps.settle([{ lease: stale, settlement: done(leased) }])).toEqual([
        false,
      ])
      expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual(
        [true],
      )
      expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual(
        [false],
      )
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        attempts: 1,
        outcome: { state: 'done', attempts: 1, result: '{"ok":true}' },
      })
    })

    test('many are settled together, each in its own way', async () => {
      const { store } = await openStore(underTest)
      for (const key of ['done', 'again', 'dead', 'parked', 'given-back', 'regrouped', 'stale'])
        await recordOne(store, anEventDraft({ key }))
      await makeLeasable(store)
      const byKey = new Map((await leaseAll(store)).map((event) => [event.key, event]))
      const get = (key: string): LeasedEvent => byKey.get(key)!
      const stale = get('stale')

      const written = await store.steps.settle([
        { lease: get('done').lease, settlement: done(get('done')) },
        { lease: get('again').lease, settlement: retryIn(60_000)(get('again')) },
        { lease: { ...stale.lease, token: 999_999 }, settlement: done(stale) },
        { lease: get('dead').lease, settlement: dead(get('dead')) },
        { lease: get('parked').lease, settlement: unhandled(get('parked')) },
        { lease: get('given-back').lease, settlement: { state: 'given-back' } },
        { lease: get('regrouped').lease, settlement: { state: 'regrouped' } },
      ])

      expect(written).toEqual([true, true, false, true, true, true, true])
      const states = await Promise.all(
        [...byKey].map(async ([key, { eventId }]) => {
          const event = await store.operators.findEvent(eventId)
          return [key, event?.state, event?.attempts, event?.failures.length]
        }),
      )
      expect(states).toEqual([
        ['done', 'done', 1, 0],
        ['again', 'ready', 1, 1],
        ['dead', 'dead', 1, 1],
        ['parked', 'unhandled', 0, 0],
        ['given-back', 'ready', 0, 0],
        ['regrouped', 'ready', 0, 0],
        ['stale', 'running', 0, 0],
      ])
      expect((await leaseAll(store)).map(({ key, attempt }) => [key, attempt])).toEqual([
        ['given-back', 1],
      ])
      const group = await claim(store)
      expect(group.events.map(({ key, attempt }) => [key, attempt])).toEqual([['regrouped', 1]])
      await group.abandon()
    })

    test('an event that is nudged while it is leased stays leased', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)

      await store.events.nudge(eventId)

      expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual(
        [true],
      )
    })
  })
}
