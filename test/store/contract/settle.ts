import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import {
  claim,
  dead,
  done,
  nextDueInMs,
  recordOne,
  retryIn,
  runOne,
  skipped,
  unhandled,
} from '../../support/store-steps.ts'

/** What every store must do when an attempt has come to its end. */
export function settleContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: settle`, () => {
    async function openWithEvent() {
      const opened = await openStore(underTest)
      const { eventId } = await recordOne(opened.store, anEventDraft())
      return { ...opened, eventId }
    }

    test('an event on its way has no outcome', async () => {
      const { store, eventId } = await openWithEvent()

      expect(await store.events.findOutcome(eventId)).toEqual({
        outcome: undefined,
        attempts: 0,
        parked: undefined,
      })
      expect(await store.events.findOutcome('00000000-0000-7000-8000-000000000000')).toBeUndefined()
    })

    test('done keeps the result', async () => {
      const { store, eventId } = await openWithEvent()

      await runOne(store, done)

      const view = await store.events.findOutcome(eventId)
      expect(view?.outcome).toMatchObject({
        state: 'done',
        attempts: 1,
        durationMs: 5,
        result: '{"ok":true}',
      })
      expect(view?.outcome?.settledAt).toBeInstanceOf(Date)
      expect(view?.parked).toBeUndefined()
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        attempts: 1,
        nextRunAt: undefined,
        failures: [],
      })
    })

    test('skipped keeps the reason', async () => {
      const { store, eventId } = await openWithEvent()

      await runOne(store, skipped)

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'skipped',
        reason: 'not ours',
        outcome: { state: 'skipped', reason: 'not ours', result: undefined },
      })
    })

    test('dead keeps the reason and the failure', async () => {
      const { store, eventId } = await openWithEvent()

      await runOne(store, dead)

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'dead',
        reason: 'gave up',
        outcome: { state: 'dead', attempts: 1 },
        failures: [{ attempt: 1, reason: 'error', message: 'Error: no luck', durationMs: 5 }],
      })
      expect(await nextDueInMs(store)).toBeUndefined()
    })

    test('ready counts the failed attempt and runs again later', async () => {
      const { store, eventId } = await openWithEvent()

      await runOne(store, retryIn(0))
      await runOne(store, retryIn(3_600_000), { kind: 'again' })

      expect(await store.events.findOutcome(eventId)).toEqual({
        outcome: undefined,
        attempts: 2,
        parked: undefined,
      })
      const event = await store.operators.findEvent(eventId)
      expect(event).toMatchObject({
        state: 'ready',
        attempts: 2,
        failures: [{ attempt: 1 }, { attempt: 2 }],
      })
      expect(event?.nextRunAt?.getTime()).toBeGreaterThan(Date.now())
    })

    test('unhandled parks the event without an attempt', async () => {
      const { store, eventId } = await openWithEvent()

      await runOne(store, unhandled)

      expect(await store.events.findOutcome(eventId)).toEqual({
        outcome: undefined,
        attempts: 0,
        parked: 'unhandled',
      })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'unhandled',
        attempts: 0,
      })
      expect(await nextDueInMs(store)).toBeUndefined()
    })

    test('the events of one group may end differently', async () => {
      const { store } = await openStore(underTest)
      for (const key of ['a', 'b', 'c', 'd', 'e']) await recordOne(store, anEventDraft({ key }))
      const group = await claim(store)
      const ends = [done, skipped, dead, retryIn(60_000), unhandled]

      await group.settle(group.events.map((event, index) => (ends[index] ?? done)(event)))
      await group.commit()

      const states = await Promise.all(
        group.events.map(({ eventId }) => store.operators.findEvent(eventId)),
      )
      expect(states.map((event) => event?.state)).toEqual([
        'done',
        'skipped',
        'dead',
        'ready',
        'unhandled',
      ])
    })

    test('settling what is not in the queue as it was claimed is refused, and nothing of it is kept', async () => {
      const { store, eventId } = await openWithEvent()
      const group = await claim(store)
      const [event] = group.events

      await expect(group.settle([done({ ...event!, attempt: 7 })])).rejects.toMatchObject({
        code: 'TRANSACTION_ENDED',
      })
      await group.abandon()

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        outcome: undefined,
      })
    })

    test('settling an event twice in one group is refused', async () => {
      const { store } = await openWithEvent()
      const group = await claim(store)
      await group.settle(group.events.map(done))

      await expect(group.settle(group.events.map(done))).rejects.toMatchObject({
        code: 'TRANSACTION_ENDED',
      })

      await group.abandon()
    })

    test('a refused commit keeps nothing, and says why', async () => {
      const { database, store, eventId } = await openWithEvent()
      await database.query('create table parents (id integer primary key)')
      await database.query(
        'create table children (parent integer references parents (id) deferrable initially deferred)',
      )
      const group = await claim(store)
      await group.lend().tx.query('insert into children (parent) values (404)')
      await group.settle(group.events.map(done))

      const result = await group.commit()

      expect(result).toMatchObject({ status: 'refused', error: expect.any(Error) })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        outcome: undefined,
      })
      expect(await database.query('select parent from children')).toEqual([])
    })
  })

  describe(`${underTest.name}: settle after the transaction is lost`, () => {
    async function openWithLost() {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const group = await claim(store)
      await group.abandon()
      return { store, eventId, event: group.events[0]! }
    }

    test('a failed attempt is counted', async () => {
      const { store, eventId, event } = await openWithLost()

      expect(await store.queue.settleLost(retryIn(60_000)(event))).toBe(true)

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        attempts: 1,
        failures: [{ attempt: 1 }],
      })
    })

    test('the last failed attempt makes it dead', async () => {
      const { store, eventId, event } = await openWithLost()

      expect(await store.queue.settleLost(dead(event))).toBe(true)

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'dead',
        failures: [{ attempt: 1 }],
      })
    })

    test('an attempt is counted once', async () => {
      const { store, eventId, event } = await openWithLost()
      await store.queue.settleLost(retryIn(0)(event))

      expect(await store.queue.settleLost(dead(event))).toBe(false)

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        attempts: 1,
        failures: [{ attempt: 1 }],
      })
    })

    test('an event that was parked meanwhile is left alone', async () => {
      const { store, eventId, event } = await openWithLost()
      await runOne(store, unhandled)

      expect(await store.queue.settleLost(retryIn(0)(event))).toBe(false)
      expect(await store.queue.settleLost(dead(event))).toBe(false)

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'unhandled',
        failures: [],
      })
    })

    test('an event that was settled meanwhile is left alone', async () => {
      const { store, eventId, event } = await openWithLost()
      await runOne(store, done)

      expect(await store.queue.settleLost(retryIn(0)(event))).toBe(false)
      expect(await store.queue.settleLost(dead(event))).toBe(false)

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        failures: [],
      })
    })
  })
}
