import { describe, expect, test } from 'vitest'
import type { LeaseRequest } from '../../../src/store/contract/steps.ts'
import { anEventDraft } from '../../support/builders.ts'
import { aLeaseRequest, leaseAll, leaseOne, makeLeasable } from '../../support/lease-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { done, recordOne } from '../../support/store-steps.ts'

const ME = 'worker-1'

/** What every store must do about leases: taking, keeping and losing them. */
export function leasesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: leases`, () => {
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
