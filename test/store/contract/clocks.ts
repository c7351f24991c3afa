import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { aLane, recordKeys, sort } from '../../support/lane-steps.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { claimMessages, enqueue } from '../../support/outbox-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { DatabaseUnderTest, StoreUnderTest } from '../../support/store-under-test.ts'
import { done, nextDueInMs, recordOne, retryIn, runOne } from '../../support/store-steps.ts'

const ME = 'worker-1'
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const ALWAYS = { always: true }
const KEPT = { isWritten: true, wentBackMs: 0 }

/**
 * What every store must do when its clock is set back. To every statement, a clock that went back by an hour and
 * times that are an hour ahead are the same; `test/faults/clocks.test.ts` sets a real one.
 */
export function clocksContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a clock that is set back`, () => {
    test('C10: is seen at the next look, by how much, and once', async () => {
      const { store, database } = await openStore(underTest)
      expect(await store.events.keepClock(ALWAYS)).toEqual(KEPT)
      await setBack(database)

      const { isWritten, wentBackMs } = await store.events.keepClock({ always: false })

      expect(isWritten).toBe(true)
      expect(wentBackMs).toBeGreaterThan(HOUR_MS - MINUTE_MS)
      expect(wentBackMs).toBeLessThanOrEqual(HOUR_MS)
      expect(await store.events.keepClock(ALWAYS)).toEqual(KEPT)
    })

    test('C10: is seen however often workers have beaten since', async () => {
      const { store, database } = await openStore(underTest)
      for (let i = 0; i < 13; i += 1) {
        await store.events.keepClock(ALWAYS)
        await setBack(database)
        await store.workers.beat({ workerId: ME, slots: 2, handles: [] })

        expect((await store.events.keepClock({ always: false })).wentBackMs).toBeGreaterThan(0)
      }
    })

    test('C10: is corrected by one of many who see it', async () => {
      const { store, second, database } = await openStore(underTest)
      const other = await second()
      await store.events.keepClock(ALWAYS)
      await enqueue(store, { destination: 'slow', delayMs: 2 * HOUR_MS })
      await setBack(database)

      const looks = await Promise.all(
        [store, other, store, other].map((each) => each.events.keepClock({ always: false })),
      )

      expect(looks.filter(({ wentBackMs }) => wentBackMs > 0)).toHaveLength(1)
      expect(await store.messages.nextDueInMs(['slow'], 9 * HOUR_MS)).toBeGreaterThan(1.9 * HOUR_MS)
    })

    test('the time is written once a second for all, unless it must be', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      expect(await store.events.keepClock(ALWAYS)).toEqual(KEPT)

      await expect
        .poll(() => other.events.keepClock({ always: false }))
        .toEqual({ isWritten: false, wentBackMs: 0 })
      await expect.poll(() => other.events.keepClock({ always: false })).toEqual(KEPT)
      expect(await store.events.keepClock(ALWAYS)).toEqual(KEPT)
    })

    test('C10: what was due is due, and what waits for its next attempt waits as long as it would have', async () => {
      const { store, database } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'failed' }))
      await runOne(store, retryIn(10 * MINUTE_MS))
      await store.events.keepClock(ALWAYS)
      await setBack(database)
      expect(await nextDueInMs(store)).toBeGreaterThan(HOUR_MS)

      await store.events.keepClock({ always: false })

      expect(await nextDueInMs(store)).toBeLessThanOrEqual(10 * MINUTE_MS + 1_000)
      expect(await nextDueInMs(store)).toBeGreaterThan(8 * MINUTE_MS)

      await recordOne(store, anEventDraft({ key: 'fresh' }))
      await store.events.keepClock(ALWAYS)
      await setBack(database)
      expect(await nextDueInMs(store)).toBeGreaterThan(MINUTE_MS)
      await store.events.keepClock({ always: false })
      expect(await nextDueInMs(store)).toBe(0)
    })

    test.each([
      ['a number', 'sequence', { number: 5, first: 1, policy: 'run' }],
      ['another type', 'after', { place: 'user.created', policy: 'run' }],
    ] as const)(
      'C10: a lane waits for %s as long as it would have',
      async (_, mode, { policy, ...place }) => {
        const { store, database } = await openStore(underTest)
        const lane = aLane('K', mode)
        const [id = ''] = await recordKeys(store, ['K5'])
        await sort(store, { place: () => ({ lane, ...place, waitMs: 10 * MINUTE_MS, policy }) })
        const waitsFor = async () =>
          Number((await store.operators.findEvent(id))?.blockedBy?.until) - Date.now()
        await store.events.keepClock(ALWAYS)
        await setBack(database)
        expect(await waitsFor()).toBeGreaterThan(HOUR_MS)

        await store.events.keepClock({ always: false })

        expect(await waitsFor()).toBeLessThanOrEqual(10 * MINUTE_MS + 1_000)
        expect(await waitsFor()).toBeGreaterThan(5 * MINUTE_MS)
      },
    )

    test('C10: in a lane of the latest, what failed is next when it would have been', async () => {
      const { store, database } = await openStore(underTest)
      const lane = aLane('K', 'latest')
      await recordKeys(store, ['K1', 'K2'])
      await sort(store, { place: ({ key }) => ({ lane, place: key }) })
      await runOne(store, retryIn(10 * MINUTE_MS), { kind: 'head' })
      await runOne(store, done, { kind: 'head' })
      await store.events.keepClock(ALWAYS)
      await setBack(database)

      await store.events.keepClock({ always: false })

      expect(await nextDueInMs(store)).toBeLessThanOrEqual(10 * MINUTE_MS + 1_000)
    })

    test('C10: a lease that its worker does not know of is released when it would have been', async () => {
      const { store, database } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      await leaseOne(store)
      await store.events.keepClock(ALWAYS)
      // It was given for ten minutes, an hour and a half ago.
      await move(database, -1.5 * HOUR_MS, ['queue', ['lease_until']])
      await setBack(database)
      await setBack(database)
      expect(await store.steps.giveBackForgotten(ME, [])).toBe(0)

      await store.events.keepClock({ always: false })

      expect(await store.steps.giveBackForgotten(ME, [])).toBe(1)
    })

    test('C10: a message waits as long as it was to, and a lease is as long', async () => {
      const { store, database } = await openStore(underTest)
      await enqueue(store, { key: 'now' }, { destination: 'slow', delayMs: 2 * HOUR_MS })
      await enqueue(store, { key: 'leased', destination: 'mail' })
      await claimMessages(store, { destination: 'mail', leaseMs: 60_000 })
      await store.events.keepClock(ALWAYS)
      await setBack(database)
      expect(await claimMessages(store)).toEqual([])

      await store.events.keepClock({ always: false })

      // It was written a moment before it was queued, and may be due a millisecond from now.
      await expect
        .poll(async () => (await claimMessages(store)).map(({ key }) => key))
        .toEqual(['now'])
      expect(await store.messages.nextDueInMs(['slow'], 9 * HOUR_MS)).toBeGreaterThan(1.5 * HOUR_MS)
      expect(await store.messages.nextDueInMs(['slow'], 9 * HOUR_MS)).toBeLessThan(2.5 * HOUR_MS)
      expect(await claimMessages(store, { destination: 'mail' })).toEqual([])
      expect(await store.messages.nextDueInMs(['mail'], HOUR_MS)).toBeLessThanOrEqual(60_000)
    })

    test('C10: a message that was claimed since keeps its lease', async () => {
      const { store, second, database } = await openStore(underTest)
      await store.events.keepClock(ALWAYS)
      await setBack(database)
      await enqueue(store, { key: 'since', destination: 'mail' })
      expect(await claimMessages(store, { destination: 'mail', leaseMs: 60_000 })).toHaveLength(1)

      await store.events.keepClock({ always: false })

      // Another process has not seen yet from when on there are messages.
      expect(await claimMessages(await second(), { destination: 'mail' })).toEqual([])
    })

    test('C10: since when a call is in doubt is moved as well', async () => {
      const { store, database } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const { lease } = await leaseOne(store)
      const call = { lease, handler: 'h', position: 1, name: 'pay', result: undefined }
      await store.steps.writeCalls([{ ...call, change: 'started' }])
      await store.events.keepClock(ALWAYS)
      await setBack(database)

      await store.events.keepClock({ always: false })

      const [again] = await store.steps.writeCalls([{ ...call, change: 'started' }])
      expect(again?.uncertainForMs).toBeGreaterThanOrEqual(0)
      expect(again?.uncertainForMs).toBeLessThan(10 * MINUTE_MS)
    })

    test('C10: a message in doubt is in doubt for as long as before', async () => {
      const { store, database } = await openStore(underTest)
      await enqueue(store, { key: 'doubted', destination: 'mail' })
      await claimMessages(store, { destination: 'mail', leaseMs: 1 })
      await expect
        .poll(() => claimMessages(store, { destination: 'mail', leaseMs: 1 }))
        .toHaveLength(1)
      await store.events.keepClock(ALWAYS)
      await setBack(database)

      await store.events.keepClock({ always: false })

      const [again] = await expectClaimed(() => claimMessages(store, { destination: 'mail' }))
      expect(again?.uncertainForMs).toBeGreaterThan(0)
      expect(again?.uncertainForMs).toBeLessThan(10 * MINUTE_MS)
    })
  })
}

async function expectClaimed<Claimed>(claim: () => Promise<readonly Claimed[]>) {
  let claimed: readonly Claimed[] = []
  await expect.poll(async () => (claimed = await claim())).toHaveLength(1)
  return claimed
}

/** As if the clock were set back by an hour now: everything that was written is an hour ahead. */
async function setBack(database: DatabaseUnderTest): Promise<void> {
  await database
    .query(
      `update hookonce.meta set value = (value::bigint + ${HOUR_MS})::text where name = 'clock'`,
    )
    .catch(() =>
      database.query(
        `update hookonce_meta set value = cast(cast(value as integer) + ${HOUR_MS} as text) where name = 'clock'`,
      ),
    )
  await move(
    database,
    HOUR_MS,
    ['workers', ['beat_at']],
    ['queue', ['run_at', 'lease_until', 'wait_until']],
    ['steps', ['started_at']],
    ['messages', ['created_at']],
    ['message_queue', ['send_at', 'claimed_at', 'uncertain_since']],
  )
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
