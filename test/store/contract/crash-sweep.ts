import { describe, expect, test } from 'vitest'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { sweepOthers } from '../../support/store-steps.ts'

const CRASHED = { workerId: 'worker-1', slot: 0 }
const LIVING = { workerId: 'worker-2', slot: 0 }
const SWEEP = { crashesMax: 3, me: LIVING.workerId }

/** What every store must do about workers that die. A crash leaves behind a list of running events. */
export function crashSweepContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: crash sweep`, () => {
    // After an outage all hearts are old, and what others can run must not be parked.
    test('H33: what a worker has handlers for is listed until it is swept, however old its heart is', async () => {
      const { store, second, database } = await openStore(underTest)
      const handles = [['stripe', 'invoice.*']] as const
      await store.workers.beat({ workerId: CRASHED.workerId, slots: 2, handles })
      const other = await second()
      await database
        .query(`update hookonce.workers set beat_at = beat_at - interval '1 hour'`)
        .catch(() => database.query('update hookonce_workers set beat_at = beat_at - 3600000'))

      expect(await other.workers.listHandled()).toEqual(handles)

      await sweepOthers(other, SWEEP)
      expect(await other.workers.listHandled()).toEqual([])
    })
  })
}
