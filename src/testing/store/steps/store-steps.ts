/**
 * Steps that contract tests take again and again, named after what they do.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { eventually } from '../check.ts'
import type { EventDraft, EventId, Recorded } from '../../../model/event.ts'
import type { FailedAttempt, Settlement } from '../../../model/outcome.ts'
import type { ClaimedEvent } from '../../../store/contract/claimed-event.ts'
import type { Group } from '../../../store/contract/group.ts'
import type { Acted, ActionRequest } from '../../../store/contract/operators.ts'
import type { SweptEvent } from '../../../store/contract/workers.ts'
import { aClaim } from './builders.ts'
import type { ClaimInput } from './builders.ts'
import type { Store } from '../../../store/contract/store.ts'
import type { AnyStore } from '../store-case.ts'

/** Generous, because nothing here tests how long it is. */
export const DEADLINE_MS = 60_000

export async function recordOne(store: AnyStore, draft: EventDraft): Promise<Recorded> {
  const [recorded] = await store.events.record([draft], { deadlineMs: DEADLINE_MS })
  assert(recorded)
  return recorded
}

export async function claim<Sql>(store: Store<Sql>, request: ClaimInput = {}): Promise<Group<Sql>> {
  const group = await store.queue.claim(aClaim(request))
  assert(group, 'something should have been due')
  return group
}

/** Claims one event, says what became of it and commits. */
export async function runOne(
  store: AnyStore,
  becomes: (event: ClaimedEvent) => Settlement,
  request: ClaimInput = {},
): Promise<EventId> {
  const group = await claim(store, { limit: 1, ...request })
  const [event] = group.events
  assert(event)
  await group.settle([becomes(event)])
  assert.deepEqual(await group.commit(), { status: 'committed' })
  return event.eventId
}

/** An operator who says nothing of themselves. */
export const NO_ORDER = { reason: undefined, actor: undefined, token: undefined } as const

/** What an operator does with an event. */
export function act(
  store: AnyStore,
  action: ActionRequest['action'],
  eventId: EventId,
  more: Partial<ActionRequest> = {},
): Promise<Acted> {
  return store.operators.act({ action, eventId, ...NO_ORDER, ...more })
}

/** Beats until the heart stands elsewhere: where the clock counts in milliseconds one has to pass. */
export async function moveHeart(store: AnyStore, workerId: string): Promise<void> {
  const listBeats = async () => (await store.workers.listHearts()).map(({ beat }) => beat)
  const before = await listBeats()
  await eventually(async () => {
    await store.workers.beat({ workerId, slots: 1, handles: [] })
    assert.notDeepEqual(await listBeats(), before)
  })
}

/** As one to whom every worker but itself is dead. */
export async function sweepOthers(
  store: AnyStore,
  { me, crashesMax = 3 }: { readonly me: string; readonly crashesMax?: number },
): Promise<readonly SweptEvent[]> {
  const hearts = await store.workers.listHearts()
  return store.workers.sweep({
    stopped: hearts.filter(({ workerId }) => workerId !== me),
    crashesMax,
  })
}

export function done({ eventId, run, attempt }: ClaimedEvent): Settlement {
  return { state: 'done', eventId, run, attempt, durationMs: 5, result: '{"ok":true}' }
}

export function skipped({ eventId, run, attempt }: ClaimedEvent): Settlement {
  return { state: 'skipped', eventId, run, attempt, durationMs: 5, reason: 'not ours' }
}

export function unhandled({ eventId, run }: ClaimedEvent): Settlement {
  return { state: 'unhandled', eventId, run }
}

export function dead({
  eventId,
  run,
  attempt,
}: ClaimedEvent): Extract<Settlement, { state: 'dead' }> {
  return {
    state: 'dead',
    eventId,
    run,
    attempt,
    durationMs: 5,
    reason: 'gave up',
    failure: failure(attempt),
  }
}

export function retryIn(
  retryInMs: number,
): (event: ClaimedEvent) => Extract<Settlement, { state: 'ready' }> {
  return ({ eventId, run, attempt }) => ({
    state: 'ready',
    eventId,
    run,
    attempt,
    retryInMs,
    failure: failure(attempt),
  })
}

function failure(attempt: number): FailedAttempt {
  return { attempt, reason: 'error', message: 'Error: no luck', durationMs: 5 }
}

/** Until the earliest event is due that is neither parked nor running; `undefined` when there is none. */
export async function nextDueInMs(
  store: AnyStore,
  { exceptLeasable } = { exceptLeasable: false },
): Promise<number | undefined> {
  const { due, nextDueInMs } = await store.queue.look({ after: -1, limit: 100 })
  return due.some(({ kind }) => kind !== 'leasable' || !exceptLeasable) ? 0 : nextDueInMs
}
