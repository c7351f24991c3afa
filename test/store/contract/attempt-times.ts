import { describe, expect, test } from 'vitest'
import type { RunSpan, Settlement } from '../../../src/model/outcome.ts'
import type { ClaimedEvent } from '../../../src/store/contract/claimed-event.ts'
import { anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { claim, dead, done, recordOne, retryIn, runOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

const HOUR_MS = 3_600_000
/** What a busy machine may take between two lines. */
const SLACK_MS = 600_000

/** What every store must keep of when an attempt ran. */
export function attemptTimesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: the times of an attempt`, () => {
    test('are when it began and when it failed, and not when that was written', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())

      await runOne(store, timed(retryIn(0), { startedAgoMs: 5 * HOUR_MS, endedAgoMs: 3 * HOUR_MS }))
      await runOne(store, timed(dead, { startedAgoMs: 2 * HOUR_MS, endedAgoMs: HOUR_MS }), {
        kind: 'again',
      })

      const event = await store.operators.findEvent(eventId)
      const settledAt = event?.outcome?.settledAt
      expect(hoursBefore(settledAt, event?.failures[0]?.startedAt)).toBe(5)
      expect(hoursBefore(settledAt, event?.failures[0]?.failedAt)).toBe(3)
      expect(hoursBefore(settledAt, event?.failures[1]?.startedAt)).toBe(2)
      expect(hoursBefore(settledAt, event?.failures[1]?.failedAt)).toBe(1)
      expect(hoursBefore(settledAt, event?.outcome?.startedAt)).toBe(2)
    })

    test('are kept of one that succeeded, in a group and under a lease', async () => {
      const { store } = await openStore(underTest)
      const span = { startedAgoMs: 2 * HOUR_MS, endedAgoMs: HOUR_MS }
      const ids = [(await recordOne(store, anEventDraft({ key: 'a' }))).eventId]
      await runOne(store, timed(done, span))
      ids.push((await recordOne(store, anEventDraft({ key: 'b' }))).eventId)
      const leased = await leaseOne(store)
      await store.steps.settle([{ lease: leased.lease, settlement: timed(done, span)(leased) }])

      for (const id of ids) {
        const outcome = (await store.operators.findEvent(id))?.outcome
        expect(hoursBefore(outcome?.settledAt, outcome?.startedAt)).toBe(2)
        expect((await store.events.findOutcome(id))?.outcome).toEqual(outcome)
      }
    })

    test('are kept of one that failed under a lease, or lost its transaction', async () => {
      const { store } = await openStore(underTest)
      const span = { startedAgoMs: 2 * HOUR_MS, endedAgoMs: HOUR_MS }
      const leasedId = (await recordOne(store, anEventDraft({ key: 'a' }))).eventId
      const leased = await leaseOne(store)
      await store.steps.settle([{ lease: leased.lease, settlement: timed(dead, span)(leased) }])
      const lostId = (await recordOne(store, anEventDraft({ key: 'b' }))).eventId
      const group = await claim(store)
      await group.abandon()
      expect(await store.queue.settleLost(timed(dead, span)(group.events[0]!))).toBe(true)

      for (const id of [leasedId, lostId]) {
        const event = await store.operators.findEvent(id)
        const settledAt = event?.outcome?.settledAt
        expect(hoursBefore(settledAt, event?.failures[0]?.startedAt)).toBe(2)
        expect(hoursBefore(settledAt, event?.failures[0]?.failedAt)).toBe(1)
        expect(hoursBefore(settledAt, event?.outcome?.startedAt)).toBe(2)
      }
    })

    test('are left out where they are unknown', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      const event = await store.operators.findEvent(eventId)

      expect(event?.outcome?.startedAt).toBeUndefined()
      expect(event?.failures[0]).not.toHaveProperty('startedAt')
      expect(event?.failures[0]?.failedAt).toBeInstanceOf(Date)
    })
  })
}

interface Ago {
  readonly startedAgoMs: number
  readonly endedAgoMs: number
}

/** As if the handlers had run so long ago. */
function timed<Ended extends Settlement>(
  becomes: (event: ClaimedEvent) => Ended,
  { startedAgoMs, endedAgoMs }: Ago,
): (event: ClaimedEvent) => Ended {
  return (event) => {
    const now = performance.now()
    const ran: RunSpan = { startedMs: now - startedAgoMs, endedMs: now - endedAgoMs }
    const settlement = becomes(event)
    if ('failure' in settlement) return { ...settlement, failure: { ...settlement.failure, ran } }
    return { ...settlement, ran }
  }
}

/** To the hour: how long a time was before another. */
function hoursBefore(later: Date | undefined, earlier: Date | undefined): number {
  const ms = (later?.getTime() ?? NaN) - (earlier?.getTime() ?? NaN)
  return Math.abs(ms - Math.round(ms / HOUR_MS) * HOUR_MS) < SLACK_MS
    ? Math.round(ms / HOUR_MS)
    : NaN
}
