import assert from 'node:assert/strict'
import { assertMatches, assertAbove, required } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { bytesOf } from '../../../model/stored-body.ts'
import type { LeaseRequest } from '../../../store/contract/steps.ts'
import { aClaim, anEventDraft, NAMED } from '../steps/builders.ts'
import { aLeaseRequest, leaseAll, leaseOne, LEASE_MS, makeLeasable } from '../steps/lease-steps.ts'
import { claim, done, nextDueInMs, recordOne, sweepOthers } from '../steps/store-steps.ts'

export const leaseCases: readonly StoreCase[] = [
  ...casesOf('leases', [
    {
      name: 'a group of events is leased in its order, up to the limit, and the attempt is counted',
      run: async (open) => {
        const { store } = await open()
        for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))
        await store.workers.beat({ workerId: ME, slots: 1, handles: [] })

        const group = await claim(store)
        const leased = await group.lease({ workerId: ME, limit: 2, leaseMs: LEASE_MS })

        assert.deepEqual(
          leased.map(({ key, attempt, hasSteps }) => [key, attempt, hasSteps]),
          [
            ['a', 1, false],
            ['b', 1, false],
          ],
        )
        const [first, second] = leased.map(({ lease }) => lease.token)
        assertAbove(second, first as number)
        assertMatches(await store.operators.findEvent(required(leased[0]).eventId), {
          state: 'running',
          attempts: 0,
        })
        assert.equal((await store.events.findOutcome(required(leased[0]).eventId))?.attempts, 0)
      },
    },

    {
      name: 'what was beyond the limit is claimed by no group, and leased next',
      run: async (open) => {
        const { store } = await open()
        for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
        await makeLeasable(store)

        for (const kind of ['fresh', 'again', 'suspect'] as const)
          assert.equal(await store.queue.claim(aClaim({ kind })), undefined)
        assert.equal(await nextDueInMs(store), 0)
        assert.equal(await nextDueInMs(store, { exceptLeasable: true }), undefined)
        assert.deepEqual(
          (await leaseAll(store)).map(({ key }) => key),
          ['a', 'b'],
        )
        assert.equal(await nextDueInMs(store), undefined)
        assert.deepEqual(await leaseAll(store), [])
      },
    },

    {
      name: 'a leased event carries all that a claimed one does',
      run: async (open) => {
        const { store } = await open()
        const draft = anEventDraft({ occurredAt: new Date('2026-01-01T00:00:00Z') })
        await recordOne(store, draft)
        await makeLeasable(store)

        const [event] = await leaseAll(store)

        assertMatches(event, {
          source: draft.source,
          key: draft.key,
          type: draft.type,
          crashes: 0,
          headers: draft.headers,
          receivedAt: draft.receivedAt,
          occurredAt: draft.occurredAt,
          keyHash: Buffer.from(draft.keyHash, 'latin1').toString('hex'),
        })
        assert.deepEqual(Buffer.from(bytesOf(required(event).body)), Buffer.from(draft.body))
      },
    },

    {
      name: 'of two workers that ask at once one gets the event',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        await recordOne(store, anEventDraft())
        await makeLeasable(store)
        await other.workers.beat({ workerId: OTHER, slots: 1, handles: [] })

        const both = await Promise.all([
          store.steps.lease(request()),
          other.steps.lease(request({ workerId: OTHER })),
        ])

        assert.equal(both.flat().length, 1)
      },
    },

    {
      name: 'C11: a worker without a record, or whose heart has stopped, gets no lease',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        await makeLeasable(store)

        assert.deepEqual(await store.steps.lease(request({ workerId: 'unknown' })), [])
        await store.workers.remove(ME)
        assert.deepEqual(await store.steps.lease(request()), [])
      },
    },

    {
      name: 'C01: the lease of a dead worker is taken, its crash counted, and the event is due with a larger token',
      run: async (open) => {
        const { store, second } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        const first = await leaseOne(store)
        const other = await second()
        await other.workers.beat({ workerId: OTHER, slots: 1, handles: [] })

        assert.deepEqual(await sweepOthers(other, SWEEP), [
          { eventId, ...NAMED, attempt: 1, crashes: 1, dead: false, workerId: ME },
        ])

        const [again] = await other.steps.lease(request({ workerId: OTHER }))
        assertMatches(again, { eventId, attempt: 2, crashes: 1 })
        assertAbove(required(again).lease.token, first.lease.token)
        assertMatches((await other.operators.findEvent(eventId))?.failures, [
          { attempt: 1, reason: 'crashed' },
        ])
      },
    },

    {
      name: 'a worker that sweeps does not take its own leases',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        await leaseOne(store)

        assert.deepEqual(await sweepOthers(store, { ...SWEEP, me: ME }), [])
      },
    },

    {
      name: 'C06: a sweep changes nothing about an event that was settled before',
      run: async (open) => {
        const { store, second } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        const leased = await leaseOne(store)
        const other = await second()
        assert.deepEqual(
          await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }]),
          [true],
        )

        assert.deepEqual(await sweepOthers(other, SWEEP), [])
        assertMatches(await other.operators.findEvent(eventId), {
          state: 'done',
          failures: [],
        })
      },
    },

    {
      name: 'C07: a lease that was given up and taken anew is not the one a sweep was after',
      run: async (open) => {
        const { store, second } = await open()
        await recordOne(store, anEventDraft())
        const first = await leaseOne(store)
        const other = await second()
        await other.workers.beat({ workerId: OTHER, slots: 1, handles: [] })
        await store.steps.settle([{ lease: first.lease, settlement: { state: 'given-back' } }])
        const [again] = await other.steps.lease(request({ workerId: OTHER }))

        // Whose worker has beaten is left alone; the first one's stopped heart holds no lease any more.
        const hearts = await store.workers.listHearts()
        const stopped = hearts.filter(({ workerId }) => workerId === ME)
        assert.deepEqual(await store.workers.sweep({ stopped, crashesMax: 3 }), [])
        assert.deepEqual(
          await other.steps.settle([
            { lease: required(again).lease, settlement: done(required(again)) },
          ]),
          [true],
        )
      },
    },

    {
      name: 'C14: an event that has crashed too often is dead',
      run: async (open) => {
        const { store, second } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await leaseOne(store)
        const other = await second()

        assertMatches(await sweepOthers(other, { ...SWEEP, crashesMax: 1 }), [{ dead: true }])
        assertMatches(await other.operators.findEvent(eventId), {
          state: 'dead',
          reason: 'crashed',
          outcome: { attempts: 1 },
        })
      },
    },

    {
      name: 'one that crashed before its last chance is leased alone, whichever worker asks',
      run: async (open) => {
        const { store, second } = await open()
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

        assertMatches(first, { key: 'a', crashes: 1 })
        assert.deepEqual(
          next.map(({ key }) => key),
          ['fresh'],
        )
        await other.steps.settle([
          { lease: required(first).lease, settlement: done(required(first)) },
        ])
        assertMatches(await store.steps.lease(request(suspects)), [{ key: 'b' }])
      },
    },
  ]),
]

const ME = 'worker-1'

const OTHER = 'worker-2'

const SWEEP = { crashesMax: 3, me: OTHER }

function request(input: Partial<LeaseRequest> = {}, limit = 10): LeaseRequest {
  return { ...aLeaseRequest(limit), workerId: ME, ...input }
}
