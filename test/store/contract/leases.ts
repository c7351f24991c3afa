import { bytesOf } from '../../../src/model/stored-body.ts'
import { describe, expect, test } from 'vitest'
import type { LeaseRequest } from '../../../src/store/contract/steps.ts'
import { aClaim, anEventDraft, NAMED } from '../../support/builders.ts'
import {
  aLeaseRequest,
  leaseAll,
  leaseOne,
  LEASE_MS,
  makeLeasable,
} from '../../support/lease-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, done, nextDueInMs, recordOne, sweepOthers } from '../../support/store-steps.ts'

const ME = 'worker-1'
const OTHER = 'worker-2'
const SWEEP = { crashesMax: 3, me: OTHER }

/** What every store must do about leases: taking, keeping and losing them. */
export function leasesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: leases`, () => {
    test('a group of events is leased in its order, up to the limit, and the attempt is counted', async () => {
      const { store } = await openStore(underTest)
      for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))
      await store.workers.beat({ workerId: ME, slots: 1, handles: [] })

      const group = await claim(store)
      const leased = await group.lease({ workerId: ME, limit: 2, leaseMs: LEASE_MS })

      expect(leased.map(({ key, attempt, hasSteps }) => [key, attempt, hasSteps])).toEqual([
        ['a', 1, false],
        ['b', 1, false],
      ])
      const [first, second] = leased.map(({ lease }) => lease.token)
      expect(second).toBeGreaterThan(first as number)
      expect(await store.operators.findEvent(leased[0]!.eventId)).toMatchObject({
        state: 'running',
        attempts: 0,
      })
      expect((await store.events.findOutcome(leased[0]!.eventId))?.attempts).toBe(0)
    })

    test('what was beyond the limit is claimed by no group, and leased next', async () => {
      const { store } = await openStore(underTest)
      for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
      await makeLeasable(store)

      for (const kind of ['fresh', 'again', 'suspect'] as const)
        expect(await store.queue.claim(aClaim({ kind }))).toBeUndefined()
      expect(await nextDueInMs(store)).toBe(0)
      expect(await nextDueInMs(store, { exceptLeasable: true })).toBeUndefined()
      expect((await leaseAll(store)).map(({ key }) => key)).toEqual(['a', 'b'])
      expect(await nextDueInMs(store)).toBeUndefined()
      expect(await leaseAll(store)).toEqual([])
    })

    test('a leased event carries all that a claimed one does', async () => {
      const { store } = await openStore(underTest)
      const draft = anEventDraft({ occurredAt: new Date('2026-01-01T00:00:00Z') })
      await recordOne(store, draft)
      await makeLeasable(store)

      const [event] = await leaseAll(store)

      expect(event).toMatchObject({
        source: draft.source,
        key: draft.key,
        type: draft.type,
        crashes: 0,
        headers: draft.headers,
        receivedAt: draft.receivedAt,
        occurredAt: draft.occurredAt,
        keyHash: Buffer.from(draft.keyHash, 'latin1').toString('hex'),
      })
      expect(Buffer.from(bytesOf(event!.body))).toEqual(Buffer.from(draft.body))
    })

    test('of two workers that ask at once one gets the event', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft())
      await makeLeasable(store)
      await other.workers.beat({ workerId: OTHER, slots: 1, handles: [] })

      const both = await Promise.all([
        store.steps.lease(request()),
        other.steps.lease(request({ workerId: OTHER })),
      ])

      expect(both.flat()).toHaveLength(1)
    })

    test('C11: a worker without a record, or whose heart has stopped, gets no lease', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      await makeLeasable(store)

      expect(await store.steps.lease(request({ workerId: 'unknown' }))).toEqual([])
      await store.workers.remove(ME)
      expect(await store.steps.lease(request())).toEqual([])
    })

    test('C01: the lease of a dead worker is taken, its crash counted, and the event is due with a larger token', async () => {
      const { store, second } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const first = await leaseOne(store)
      const other = await second()
      await other.workers.beat({ workerId: OTHER, slots: 1, handles: [] })

      expect(await sweepOthers(other, SWEEP)).toEqual([
        { eventId, ...NAMED, attempt: 1, crashes: 1, dead: false, workerId: ME },
      ])

      const [again] = await other.steps.lease(request({ workerId: OTHER }))
      expect(again).toMatchObject({ eventId, attempt: 2, crashes: 1 })
      expect(again!.lease.token).toBeGreaterThan(first.lease.token)
      expect((await other.operators.findEvent(eventId))?.failures).toMatchObject([
        { attempt: 1, reason: 'crashed' },
      ])
    })

    test('C08: a lease is taken only from a worker whose heart has not moved since it was looked at', async () => {
      const { store, second, database } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)
      const other = await second()
      const stopped = await other.workers.listHearts()
      // An hour back, as after a clock was set: it is another beat all the same.
      await database
        .query(`update hookonce.workers set beat_at = beat_at - interval '1 hour'`)
        .catch(() => database.query('update hookonce_workers set beat_at = beat_at - 3600000'))

      expect(await other.workers.sweep({ stopped, crashesMax: 3 })).toEqual([])
      expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual(
        [true],
      )
    })

    test('a worker that sweeps does not take its own leases', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      await leaseOne(store)

      expect(await sweepOthers(store, { ...SWEEP, me: ME })).toEqual([])
    })

    test('C06: a sweep changes nothing about an event that was settled before', async () => {
      const { store, second } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)
      const other = await second()
      expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual(
        [true],
      )

      expect(await sweepOthers(other, SWEEP)).toEqual([])
      expect(await other.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        failures: [],
      })
    })

    test('C07: a lease that was given up and taken anew is not the one a sweep was after', async () => {
      const { store, second } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const first = await leaseOne(store)
      const other = await second()
      await other.workers.beat({ workerId: OTHER, slots: 1, handles: [] })
      await store.steps.settle([{ lease: first.lease, settlement: { state: 'given-back' } }])
      const [again] = await other.steps.lease(request({ workerId: OTHER }))

      // Whose worker has beaten is left alone; the first one's stopped heart holds no lease any more.
      const hearts = await store.workers.listHearts()
      const stopped = hearts.filter(({ workerId }) => workerId === ME)
      expect(await store.workers.sweep({ stopped, crashesMax: 3 })).toEqual([])
      expect(await other.steps.settle([{ lease: again!.lease, settlement: done(again!) }])).toEqual(
        [true],
      )
    })

    test('C14: an event that has crashed too often is dead', async () => {
      const { store, second } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await leaseOne(store)
      const other = await second()

      expect(await sweepOthers(other, { ...SWEEP, crashesMax: 1 })).toMatchObject([{ dead: true }])
      expect(await other.operators.findEvent(eventId)).toMatchObject({
        state: 'dead',
        reason: 'crashed',
        outcome: { attempts: 1 },
      })
    })

    test('one that crashed before its last chance is leased alone, whichever worker asks', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))
      await makeLeasable(store)
      await leaseAll(store)
      await sweepOthers(other, SWEEP)
      await recordOne(store, anEventDraft({ key: 'fresh' }))
      await makeLeasable(store)
      await other.workers.beat({ workerId: OTHER, slots: 1, handles: [] })
      const suspects = { aloneFrom: 1 }

      const [first] = await other.steps.lease(request({ workerId: OTHER, ...suspects }))
      const next = await store.steps.lease(request(suspects))

      expect(first).toMatchObject({ key: 'a', crashes: 1 })
      expect(next.map(({ key }) => key)).toEqual(['fresh'])
      await other.steps.settle([{ lease: first!.lease, settlement: done(first!) }])
      expect(await store.steps.lease(request(suspects))).toMatchObject([{ key: 'b' }])
    })

    test('C13: an orphan is found behind 10,000 leases that are alive, in one sweep', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await other.workers.beat({ workerId: 'alive', slots: 1, handles: [] })
      for (let batch = 0; batch < 10; batch += 1) {
        const drafts = Array.from({ length: 1_000 }, (_, i) =>
          anEventDraft({ key: `evt_${batch}_${i}` }),
        )
        await store.events.record(drafts, { deadlineMs: 30_000 })
        await makeLeasable(store, 1_000)
        const leased = await store.steps.lease(request({ workerId: 'alive' }, 1_000))
        expect(leased).toHaveLength(1_000)
      }
      const { eventId } = await recordOne(store, anEventDraft({ key: 'orphan' }))
      await leaseOne(store)
      await store.workers.remove(ME)

      const stopped = (await other.workers.listHearts()).filter(({ isGone }) => isGone)
      expect(stopped).toHaveLength(1)
      expect(await other.workers.sweep({ stopped, crashesMax: 3 })).toMatchObject([
        { eventId, workerId: ME },
      ])
    })

    test('a lease that its worker never heard of is released, and not before it is old', async () => {
      const { store, database } = await openStore(underTest)
      for (const key of ['known', 'lost', 'young']) await recordOne(store, anEventDraft({ key }))
      await makeLeasable(store)
      const [known, lost] = await store.steps.lease(request({}, 2))
      expect(await store.steps.giveBackForgotten(ME, [known!.lease.token])).toBe(0)
      await database
        .query(`update hookonce.queue set lease_until = clock_timestamp() - interval '1 second'`)
        .catch(() => database.query('update hookonce_queue set lease_until = 1'))
      await store.steps.lease(request({}, 1))

      expect(await store.steps.giveBackForgotten(ME, [known!.lease.token])).toBe(1)

      const [again] = await leaseAll(store)
      expect(again).toMatchObject({ key: 'lost', attempt: 1 })
      expect(again!.lease.token).toBeGreaterThan(lost!.lease.token)
    })
  })
}

function request(input: Partial<LeaseRequest> = {}, limit = 10): LeaseRequest {
  return { ...aLeaseRequest(limit), workerId: ME, ...input }
}
