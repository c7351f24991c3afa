import assert from 'node:assert/strict'
import { assertMatches, required } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import type { LeasedEvent } from '../../../store/contract/steps.ts'
import { anEventDraft } from '../steps/builders.ts'
import { leaseAll, leaseOne, makeLeasable } from '../steps/lease-steps.ts'
import { claim, dead, done, recordOne, retryIn, unhandled } from '../steps/store-steps.ts'

export const settleLeasedCases: readonly StoreCase[] = [
  ...casesOf('settling under a lease', [
    {
      name: 'a leased event is settled once, and only under its lease',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        const leased = await leaseOne(store)
        const stale = { ...leased.lease, token: leased.lease.token + 1 }

        assert.deepEqual(await store.steps.settle([{ lease: stale, settlement: done(leased) }]), [
          false,
        ])
        assert.deepEqual(
          await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }]),
          [true],
        )
        assert.deepEqual(
          await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }]),
          [false],
        )
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'done',
          attempts: 1,
          outcome: { state: 'done', attempts: 1, result: '{"ok":true}' },
        })
      },
    },

    {
      name: 'many are settled together, each in its own way',
      run: async (open) => {
        const { store } = await open()
        for (const key of ['done', 'again', 'dead', 'parked', 'given-back', 'regrouped', 'stale'])
          await recordOne(store, anEventDraft({ key }))
        await makeLeasable(store)
        const byKey = new Map((await leaseAll(store)).map((event) => [event.key, event]))
        const get = (key: string): LeasedEvent => required(byKey.get(key))
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

        assert.deepEqual(written, [true, true, false, true, true, true, true])
        const states = await Promise.all(
          [...byKey].map(async ([key, { eventId }]) => {
            const event = await store.operators.findEvent(eventId)
            return [key, event?.state, event?.attempts, event?.failures.length]
          }),
        )
        assert.deepEqual(states, [
          ['done', 'done', 1, 0],
          ['again', 'ready', 1, 1],
          ['dead', 'dead', 1, 1],
          ['parked', 'unhandled', 0, 0],
          ['given-back', 'ready', 0, 0],
          ['regrouped', 'ready', 0, 0],
          ['stale', 'running', 0, 0],
        ])
        assert.deepEqual(
          (await leaseAll(store)).map(({ key, attempt }) => [key, attempt]),
          [['given-back', 1]],
        )
        const group = await claim(store)
        assert.deepEqual(
          group.events.map(({ key, attempt }) => [key, attempt]),
          [['regrouped', 1]],
        )
        await group.abandon()
      },
    },

    {
      name: 'an event that is nudged while it is leased stays leased',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        const leased = await leaseOne(store)

        await store.events.nudge(eventId)

        assert.deepEqual(
          await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }]),
          [true],
        )
      },
    },
  ]),
]
