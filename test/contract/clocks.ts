import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../support/builders.ts'
import { claimMessages, enqueue } from '../support/outbox-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { DatabaseUnderTest, StoreUnderTest } from '../support/store-under-test.ts'
import { nextDueInMs, recordOne } from '../support/store-steps.ts'

const ME = 'worker-1'
const HOUR_MS = 3_600_000

/**
 * What every store must do when its clock is set. To every statement, a clock that went back by an hour and
 * times that are an hour ahead are the same; `test/faults/clocks.test.ts` sets a real one.
 */
export function clocksContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a clock that is set`, () => {
    test('C10: after the clock was set back, hearts count from now, and what waits to be tried first is due', async () => {
      const { store, database } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      await store.beatWorker({ workerId: ME, slots: 1, handles: [] })
      expect(await store.correctClock(10_000)).toBe(false)
      await move(database, HOUR_MS, ['workers', ['beat_at', 'heart_at']], ['queue', ['run_at']])
      expect(await nextDueInMs(store)).toBeGreaterThan(3_000_000)

      expect(await store.correctClock(10_000)).toBe(true)

      expect(await nextDueInMs(store)).toBe(0)
      expect(await store.correctClock(10_000)).toBe(false)
    })

    test('C10: a clock that was set back while nobody was at work is seen by what was never tried', async () => {
      const { store, database } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      await move(database, HOUR_MS, ['queue', ['run_at']])

      expect(await store.correctClock(10_000)).toBe(true)

      expect(await nextDueInMs(store)).toBe(0)
    })

    test('C10: after it was set back a message waits as long as it was to, and a lease is as long', async () => {
      const { store, database } = await openStore(underTest)
      await enqueue(store, { key: 'now' }, { destination: 'slow', delayMs: 2 * HOUR_MS })
      await enqueue(store, { key: 'leased', destination: 'mail' })
      await claimMessages(store, { destination: 'mail', leaseMs: 60_000 })
      await store.beatWorker({ workerId: ME, slots: 1, handles: [] })
      await move(
        database,
        HOUR_MS,
        ['workers', ['beat_at', 'heart_at']],
        ['messages', ['created_at']],
        ['message_queue', ['send_at', 'claimed_at']],
      )
      expect(await claimMessages(store)).toEqual([])

      expect(await store.correctClock(10_000)).toBe(true)

      // It was written a moment before it was queued, and may be due a millisecond from now.
      await expect
        .poll(async () => (await claimMessages(store)).map(({ key }) => key))
        .toEqual(['now'])
      expect(await store.nextMessageDueInMs(['slow'], 2 * HOUR_MS)).toBeGreaterThan(1.5 * HOUR_MS)
      expect(await claimMessages(store, { destination: 'mail' })).toEqual([])
      expect(await store.nextMessageDueInMs(['mail'], HOUR_MS)).toBeLessThanOrEqual(60_000)
    })
  })
}

/** Moves times, in the words of either engine; of a column that an engine has not there is nothing to move. */
async function move(
  { query }: DatabaseUnderTest,
  byMs: number,
  ...tables: readonly (readonly [string, readonly string[]])[]
): Promise<void> {
  for (const [table, columns] of tables) {
    for (const column of columns) {
      await query(
        `update hookonce.${table} set ${column} = ${column} + ${byMs} * interval '1 millisecond'`,
      ).catch(() =>
        query(`update hookonce_${table} set ${column} = ${column} + ${byMs}`).catch(() => []),
      )
    }
  }
}
