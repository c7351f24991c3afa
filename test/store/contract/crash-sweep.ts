import { describe, expect, test } from 'vitest'
import { aClaim, anEventDraft, NAMED } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import {
  claim,
  dead,
  done,
  moveHeart,
  nextDueInMs,
  recordOne,
  retryIn,
  runOne,
  sweepOthers,
} from '../../support/store-steps.ts'

const CRASHED = { workerId: 'worker-1', slot: 0 }
const LIVING = { workerId: 'worker-2', slot: 0 }
const SWEEP = { crashesMax: 3, me: LIVING.workerId }

/** What every store must do about workers that die. A crash leaves behind a list of running events. */
export function crashSweepContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: crash sweep`, () => {
    async function openWithCrash() {
      const opened = await openStore(underTest)
      const { eventId } = await recordOne(opened.store, anEventDraft())
      await opened.store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])
      return { ...opened, eventId, other: await opened.second() }
    }

    test('an event that a worker is listed as running is not claimed by another, nor due', async () => {
      const { other, store, eventId } = await openWithCrash()

      expect(await other.queue.claim(aClaim({ slot: LIVING }))).toBeUndefined()
      expect(await store.queue.claim(aClaim({ slot: { ...CRASHED, slot: 1 } }))).toBeUndefined()
      expect(await other.operators.findEvent(eventId)).toMatchObject({ state: 'running' })
      // Counted as due, it would have idle slots ask again and again for as long as it runs.
      expect(await nextDueInMs(other)).toBeUndefined()
    })

    test('the slot that is listed may claim it again', async () => {
      const { store, eventId } = await openWithCrash()

      const group = await claim(store, { slot: CRASHED })

      expect(group.events).toMatchObject([{ eventId }])
      await group.abandon()
    })

    test('an emptied list gives the event free', async () => {
      const { store, other, eventId } = await openWithCrash()

      await store.workers.announce(CRASHED, [])

      const group = await claim(other, { slot: LIVING })
      expect(group.events).toMatchObject([{ eventId, crashes: 0 }])
      await group.abandon()
    })

    test('a list about an earlier attempt holds nothing back', async () => {
      const { store, second } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, retryIn(0))
      await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

      const group = await claim(await second(), { slot: LIVING, kind: 'again' })

      expect(group.events).toMatchObject([{ eventId, attempt: 2 }])
      await group.abandon()
    })

    test('a sweep counts a crash on what a dead worker was running, and makes it a suspect', async () => {
      const { other, eventId } = await openWithCrash()

      const swept = await sweepOthers(other, SWEEP)

      expect(swept).toEqual([
        { eventId, ...NAMED, attempt: 1, crashes: 1, dead: false, workerId: CRASHED.workerId },
      ])
      expect(await other.queue.claim(aClaim({ slot: LIVING, kind: 'fresh' }))).toBeUndefined()
      const suspects = await claim(other, { slot: LIVING, kind: 'suspect' })
      expect(suspects.events).toMatchObject([{ eventId, attempt: 1, crashes: 1 }])
      await suspects.abandon()
    })

    test('a crash is counted once', async () => {
      const { other, store, eventId } = await openWithCrash()

      const counted = await Promise.all([
        sweepOthers(other, SWEEP),
        sweepOthers(store, { ...SWEEP, me: 'worker-3' }),
        sweepOthers(other, SWEEP),
      ])

      expect(counted.flat()).toHaveLength(1)
      expect(await other.operators.findEvent(eventId)).toMatchObject({ state: 'ready', crashes: 1 })
    })

    test('suspects run alone, one at a time', async () => {
      const { store, second } = await openStore(underTest)
      const first = await recordOne(store, anEventDraft({ key: 'a' }))
      const next = await recordOne(store, anEventDraft({ key: 'b' }))
      await store.workers.announce(
        CRASHED,
        [first, next].map(({ eventId }) => ({ eventId, attempt: 1 })),
      )
      const other = await second()
      expect(await sweepOthers(other, SWEEP)).toHaveLength(2)

      const group = await claim(other, { slot: LIVING, kind: 'suspect', limit: 10 })

      expect(group.events).toHaveLength(1)
      await group.settle(group.events.map(done))
      await group.commit()
      expect(await runOne(other, done, { slot: LIVING, kind: 'suspect' })).not.toBe(
        group.events[0]?.eventId,
      )
    })

    test('each crash is on record as a failure, and none counts as an attempt', async () => {
      const { other, store, eventId } = await openWithCrash()
      const crash = { attempt: 1, reason: 'crashed' }

      await sweepOthers(other, { ...SWEEP, crashesMax: 2 })

      expect(await other.events.findOutcome(eventId)).toMatchObject({ attempts: 0 })
      expect(await other.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        attempts: 0,
        crashes: 1,
        failures: [crash],
      })

      await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])
      await sweepOthers(other, { ...SWEEP, crashesMax: 2 })

      expect(await other.operators.findEvent(eventId)).toMatchObject({
        state: 'dead',
        attempts: 0,
        outcome: { attempts: 0, reason: 'crashed' },
        failures: [crash, crash],
      })
    })

    test('a crash after a failed attempt leaves the count at the failed one', async () => {
      const { store, second } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, retryIn(0))
      await store.workers.announce(CRASHED, [{ eventId, attempt: 2 }])
      const other = await second()

      await sweepOthers(other, { ...SWEEP, crashesMax: 1 })

      expect(await other.operators.findEvent(eventId)).toMatchObject({
        state: 'dead',
        attempts: 1,
        outcome: { attempts: 1, reason: 'crashed' },
        failures: [
          { attempt: 1, reason: 'error' },
          { attempt: 2, reason: 'crashed' },
        ],
      })
    })

    test('an event that crashed its worker too often is dead', async () => {
      const { other, store, eventId } = await openWithCrash()
      await sweepOthers(other, { ...SWEEP, crashesMax: 2 })
      await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

      const swept = await sweepOthers(other, { ...SWEEP, crashesMax: 2 })

      expect(swept).toEqual([
        { eventId, ...NAMED, attempt: 1, crashes: 2, dead: true, workerId: CRASHED.workerId },
      ])
      expect(await other.operators.findEvent(eventId)).toMatchObject({
        state: 'dead',
        reason: 'crashed',
        outcome: { state: 'dead', reason: 'crashed' },
      })
      expect((await other.operators.findEvent(eventId))?.failures.at(-1)).toMatchObject({
        reason: 'crashed',
      })
      expect(await nextDueInMs(other)).toBeUndefined()
    })

    test('a worker whose heart beats is left alone', async () => {
      const { other, store, eventId } = await openWithCrash()
      const stopped = await other.workers.listHearts()
      await moveHeart(store, CRASHED.workerId)

      expect(await other.workers.sweep({ stopped, crashesMax: 3 })).toEqual([])
      expect(await other.operators.findEvent(eventId)).toMatchObject({ state: 'running' })
    })

    test('a heart stands elsewhere after every beat, and where it stood without one', async () => {
      const { store, other } = await openWithCrash()
      await store.workers.beat({ workerId: CRASHED.workerId, slots: 2, handles: [] })
      const [first] = await other.workers.listHearts()
      expect(first).toMatchObject({ workerId: CRASHED.workerId, isGone: false })
      const [again, ...others] = await other.workers.listHearts()
      expect(again?.beat).toBe(first?.beat)
      expect(others).toEqual([])

      await moveHeart(store, CRASHED.workerId)
      const [moved] = await other.workers.listHearts()
      expect(moved?.beat).not.toBe(first?.beat)
    })

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

    test('a worker that is not named is not swept', async () => {
      const { other } = await openWithCrash()

      expect(await other.workers.sweep({ stopped: [], crashesMax: 3 })).toEqual([])
    })

    test('no crash is counted on an event that was settled since', async () => {
      const { store, other, eventId } = await openWithCrash()
      await runOne(store, done, { slot: CRASHED })
      await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

      expect(await sweepOthers(other, SWEEP)).toEqual([])
      expect(await other.operators.findEvent(eventId)).toMatchObject({ state: 'done' })
    })

    test('no crash is counted on an attempt that was counted as failed', async () => {
      const { store, other, eventId } = await openWithCrash()
      await runOne(store, retryIn(0), { slot: CRASHED })
      await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

      expect(await sweepOthers(other, SWEEP)).toEqual([])
      expect(await other.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        crashes: 0,
        attempts: 1,
      })
    })

    test('a worker that leaves in order takes its records along', async () => {
      const { store, other } = await openWithCrash()
      await store.workers.announce(CRASHED, [])

      await store.workers.remove(CRASHED.workerId)

      expect(await sweepOthers(other, SWEEP)).toEqual([])
    })

    test('a swept worker that was alive after all beats on', async () => {
      const { store, other, eventId } = await openWithCrash()
      await sweepOthers(other, SWEEP)

      await store.workers.beat({ workerId: CRASHED.workerId, slots: 2, handles: [] })
      const group = await claim(store, { slot: { ...CRASHED, slot: 1 }, kind: 'suspect' })

      expect(group.events).toMatchObject([{ eventId, crashes: 1 }])
      await group.settle(group.events.map(dead))
      expect(await group.commit()).toEqual({ status: 'committed' })
    })
  })
}
