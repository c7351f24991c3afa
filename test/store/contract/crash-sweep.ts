import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, recordOne, sweepOthers } from '../../support/store-steps.ts'

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

    test('H45: a look leaves suspects out while one runs, but not for the process that runs it', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const recorded = [
        await recordOne(store, anEventDraft({ key: 'a' })),
        await recordOne(store, anEventDraft({ key: 'b', type: 'invoice.sent' })),
      ]
      await store.workers.announce(
        CRASHED,
        recorded.map(({ eventId }) => ({ eventId, attempt: 1 })),
      )
      await sweepOthers(other, SWEEP)
      const listSuspects = async (runsSuspect: boolean) => {
        const { due } = await store.queue.look({ after: -1, limit: 10, runsSuspect })
        return due.map(({ kind, type }) => `${kind} ${type}`)
      }
      expect(await listSuspects(false)).toHaveLength(2)

      const group = await claim(other, { slot: LIVING, kind: 'suspect' })

      expect(await listSuspects(false)).toEqual([])
      expect(await listSuspects(true)).toContain('suspect invoice.sent')
      await group.abandon()
      await expect.poll(() => listSuspects(false)).toHaveLength(2)
    })
  })
}
