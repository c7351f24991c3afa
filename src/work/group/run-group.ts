/**
 * The work path: from claimed events to committed effects and outcomes, in one transaction.
 *
 *     claimed ─▶ announce ─▶ savepoint ─▶ run handlers ─▶ settle ─▶ commit
 *                                             │ one failed
 *                                             ▼
 *                   roll back to the savepoint ─▶ run one by one, each behind its own savepoint
 *
 * What this module promises:
 *
 * - What a handler writes through its `tx` and the outcome of its event commit together.
 * - A failed event's retry or death is written in the transaction that holds its claim, so no worker can
 *   take it before its failure is recorded.
 * - One bad event costs its group one rerun, and nothing else. Events behind it in its lane do not run.
 * - A handler that ends our transaction harms only its own event. COMMIT's tag alone would not show it:
 *   measured, a stray ROLLBACK in event 30 of 50 left 20 effects and 50 "done". So the transaction's
 *   status is checked after every event, and the store proves at `settle` that it is still the one that
 *   claimed (`test/faults/handler.test.ts`, H08).
 *
 * What it leaves to others: which events run together (`group-sizes.ts`), how they do (`run-together.ts`,
 * `run-side-by-side.ts`), what an ended handler means (`run-event.ts`, `settlement.ts`), what becomes of a group
 * that cannot be committed (`abandon-group.ts`), and all SQL (`store/`).
 *
 * @module
 */

import { SettingRefusedError, TracesLeftError } from '../../errors.ts'
import type { Topic } from '../../model/topic.ts'
import { keepInOrder } from '../../ordering/keep-in-order.ts'
import type { LaneId } from '../../ordering/lane-id.ts'
import type { ClaimedEvent } from '../../store/contract/claimed-event.ts'
import type { Group } from '../../store/contract/group.ts'
import type { RunningEvent } from '../../store/contract/workers.ts'
import { LoopBreaks } from '../../flow/loop-breaks.ts'
import type { Handler, HandlerUnit } from '../handler-unit.ts'
import {
  blameForRefusal,
  GroupEndedError,
  GroupLostError,
  isEnded,
  abandonGroup,
} from './abandon-group.ts'
import { reportSettlement } from '../report-settlement.ts'
import { failedRun } from '../failed-run.ts'
import type { RunFailed, RunResult } from '../run-result.ts'
import { noteContention, runInGroup, unhandled } from './run-in-group.ts'
import type { RunInGroupContext } from './run-in-group.ts'
import { runSideBySide } from './run-side-by-side.ts'
import { runTogether } from './run-together.ts'
import { settleRun } from '../settlement.ts'
import type { SettledEvent } from '../settlement.ts'

export interface RunGroupContext extends RunInGroupContext {
  /** Whether the event's group was refused at COMMIT, so that the event must not be grouped again. */
  readonly runsAlone: (event: ClaimedEvent) => boolean
  readonly announce: (running: readonly RunningEvent[]) => Promise<void>
}

/**
 * Runs a claimed group to its end. Never throws: whatever goes wrong, the events are settled or given back.
 *
 * Returns `abandoned` when nothing was written, so that the caller can pause before it claims the same again. A failed
 * attempt that was written keeps its event away for a while, and the others need not wait.
 */
export async function runGroup<Tx>(
  context: RunGroupContext,
  group: Group<Tx>,
): Promise<'settled' | 'abandoned'> {
  const events = chooseEvents(context, group.events)
  const letNextRun = await waitForContended(context, events)
  try {
    return await runChosen(context, group, events)
  } finally {
    letNextRun()
  }
}

/**
 * An event whose group was refused at COMMIT runs alone, which shows whether it was the cause. Events that do not run
 * now go back to the queue as they were, when the group ends.
 */
function chooseEvents(
  { runsAlone }: RunGroupContext,
  events: readonly ClaimedEvent[],
): readonly ClaimedEvent[] {
  const [first] = events
  if (first !== undefined && runsAlone(first)) return [first]
  return keepInOrder(events, (event) => !runsAlone(event))
}

/**
 * Before the group is announced: a group that waits is not running yet. An event that runs alone does not
 * wait here: it holds its locks briefly.
 */
async function waitForContended(
  context: RunGroupContext,
  events: readonly ClaimedEvent[],
): Promise<() => void> {
  if (events.length === 1) return () => undefined
  return context.contention.take(events.flatMap((event) => context.findUnit(event) ?? []))
}

async function runChosen<Tx>(
  context: RunGroupContext,
  group: Group<Tx>,
  events: readonly ClaimedEvent[],
): Promise<'settled' | 'abandoned'> {
  let settled: readonly SettledEvent[]
  try {
    await context.announce(events.map(({ eventId, attempt }) => ({ eventId, attempt })))
    settled = await settleOurs(context, group, await runEvents(context, group, events))
  } catch (error) {
    return (await abandonGroup(context, group, { events, error })) ? 'settled' : 'abandoned'
  }
  if (settled.length === 0) {
    await group.abandon()
    context.happenings.emit('group.given-back', {
      size: events.length,
      cause: 'none of them could run now',
    })
    return 'abandoned'
  }
  const committed = await group.commit()
  switch (committed.status) {
    case 'committed':
      reportCommitted(context, settled)
      return 'settled'
    case 'refused': {
      const isWritten = await blameForRefusal(context, settled, committed.error)
      // The events of a group run alone from now on, so that the next claim is not the same once more.
      return isWritten || settled.length > 1 ? 'settled' : 'abandoned'
    }
    case 'unknown':
      // Nothing to resolve: the queue rows are gone if it committed and claimable if it did not.
      if (settled.some(({ hasSent }) => hasSent)) context.outbox.onCommitted()
      context.happenings.emit('group.commit-unknown', {
        size: settled.length,
        error: committed.error,
      })
      return 'abandoned'
  }
}

/**
 * Returns the events that were settled. One that was taken from this worker while it ran is settled by another
 * worker.
 */
async function settleOurs<Tx>(
  { sizes }: RunGroupContext,
  group: Group<Tx>,
  ran: readonly SettledEvent[],
): Promise<readonly SettledEvent[]> {
  if (ran.length === 0) return ran
  const startedAt = performance.now()
  const taken = await group.settle(ran.map(({ settlement }) => settlement))
  if (sharesTransaction(ran)) sizes.settled(ran.length, performance.now() - startedAt)
  return taken.size === 0 ? ran : ran.filter(({ event }) => !taken.has(event.eventId))
}

/**
 * A group that opens late may wait for the writer before it settles, which says nothing about how long settling
 * takes.
 */
function sharesTransaction(ran: readonly SettledEvent[]): boolean {
  return ran.length > 1 && ran.some(({ unit }) => unit?.guarantee === 'exactly-once')
}

async function runEvents<Tx>(
  context: RunGroupContext,
  group: Group<Tx>,
  events: readonly ClaimedEvent[],
): Promise<readonly SettledEvent[]> {
  if (events.length === 1) return runOneByOne(context, group, events)
  if (events.some((event) => context.findUnit(event)?.guarantee === 'at-least-once')) {
    return runSideBySide(context, group, events)
  }
  await setSavepoint(context, group, GROUP_SAVEPOINT)
  const settled = await runBehindOne(context, group, events)
  // Not left open, since `settle` would run inside it: PostgreSQL then writes down two owners for every
  // queue row, the lock's and the deletion's, and what has two owners no claim can clear out of its way.
  // Measured while 50,000 events were drained: claims cost the database 51 µs an event and more with each,
  // and a steady 24 µs this way.
  await group.dropSavepoint(GROUP_SAVEPOINT)
  return settled
}

/** A savepoint costs the database next to nothing, so that its time is that of the way there and back. */
async function setSavepoint<Tx>(
  { sizes }: RunGroupContext,
  group: Group<Tx>,
  name: string,
): Promise<void> {
  const startedAt = performance.now()
  await group.setSavepoint(name)
  sizes.answered(performance.now() - startedAt)
}

async function runBehindOne<Tx>(
  context: RunGroupContext,
  group: Group<Tx>,
  all: readonly ClaimedEvent[],
): Promise<readonly SettledEvent[]> {
  for (let events = all; ;) {
    const together = await runTogether(context, group, events)
    if (together.status === 'ran') return together.settled

    context.happenings.emit('group.rerun', { size: events.length, cause: together.cause })
    await group.rollbackTo(GROUP_SAVEPOINT)
    await requireNoTraces(context, group)
    if (together.isContended && together.ranBefore > 1) {
      // Another transaction held a lock we needed. The events that ran before run again and are committed,
      // which frees their locks. One by one they would hold them while they wait for other groups, which do
      // the same.
      events = events.slice(0, together.ranBefore)
      continue
    }
    await group.setLockTimeout(RERUN_LOCK_TIMEOUT_MS)
    return runOneByOne(context, group, events.slice(0, together.isContended ? 1 : RERUN_MAX))
  }
}

/** Refuses a group whose rerun would meet what no rollback undoes. Each event alone has a connection without it. */
async function requireNoTraces<Tx>(context: RunGroupContext, group: Group<Tx>): Promise<void> {
  const traces = await group.findTraces()
  if (traces === undefined) return
  context.runAlone(group.events)
  throw new TracesLeftError(traces)
}

const GROUP_SAVEPOINT = 'group'
const EVENT_SAVEPOINT = 'event'
/** PostgreSQL keeps 64 subtransactions per backend in shared memory; past that every snapshot gets slower. */
const RERUN_MAX = 50
/** A rerun holds the locks of the events before it: better to end the group than to make others wait for long. */
const RERUN_LOCK_TIMEOUT_MS = 1_000
/** Deadlocks and serialization failures are no event's fault: tried again in place, without a lost attempt. */
const IN_PLACE_MAX = 5

/** The careful path: each event behind its own savepoint, its failure written where its claim is held. */
async function runOneByOne<Tx>(
  context: RunGroupContext,
  group: Group<Tx>,
  events: readonly ClaimedEvent[],
): Promise<readonly SettledEvent[]> {
  const settled: SettledEvent[] = []
  /** Lanes in which an event was not done. The events behind it go back to the queue as they were. */
  const ended = new Set<LaneId>()
  const startedAt = performance.now()
  const breaks = new LoopBreaks()
  for (const event of events) {
    if (event.lane?.isBehind === true && ended.has(event.lane.id)) continue
    if (breaks.isDue) await breaks.take()
    // Each event may use up its time-out and fail, and those behind it would wait for all of that.
    const isOverdue = context.sizes.isOver(performance.now() - startedAt, settled.length)
    if (settled.length > 0 && (isOverdue || context.isStopping())) break
    const unit = context.findUnit(event)
    if (unit === undefined) {
      settled.push(unhandled(event))
      if (event.lane !== undefined) ended.add(event.lane.id)
      continue
    }
    const result = await runBehindSavepoint(context, group, event, unit)
    // Another transaction holds a lock that it needs, or it must run alone. Commit what has run, so that our
    // locks are freed; the rest is given back.
    if (result.status === 'failed' && group.events.length > 1 && isForLater(result)) break
    if (result.status === 'failed' && event.lane !== undefined) ended.add(event.lane.id)
    settled.push(settleRun(event, unit, result))
  }
  return settled
}

function isForLater({ trouble, error }: RunFailed): boolean {
  return trouble === 'contended' || isNotForCompany(error)
}

function isNotForCompany(error: Error): boolean {
  return error instanceof SettingRefusedError || error instanceof TracesLeftError
}

async function runBehindSavepoint<Tx>(
  context: RunGroupContext,
  group: Group<Tx>,
  event: ClaimedEvent,
  unit: HandlerUnit,
): Promise<RunResult> {
  for (let tries = 1; ; tries += 1) {
    await setSavepoint(context, group, EVENT_SAVEPOINT)
    const result = await runUnseen(context, group, event, unit)
    try {
      if (result.status === 'failed') await group.rollbackTo(EVENT_SAVEPOINT)
      await group.dropSavepoint(EVENT_SAVEPOINT)
    } catch (error) {
      // The savepoint went with the transaction it was set in, and only this event ran since.
      if (isEnded(group, error)) throw new GroupEndedError(event)
      // A statement that could not be cancelled in time took the connection with it.
      if (group.status() === 'lost') throw new GroupLostError(event, result)
      throw error
    }
    if (result.status === 'failed' && isNotForCompany(result.error)) context.sizes.neverGroup(unit)
    if (result.status !== 'failed' || result.trouble !== 'contended') return result
    noteContention(context, event, unit)
    if (tries >= IN_PLACE_MAX) return result
  }
}

/** Runs one event. It has failed if it left something behind that the next event would meet. */
async function runUnseen<Tx>(
  context: RunGroupContext,
  group: Group<Tx>,
  event: ClaimedEvent,
  unit: HandlerUnit,
): Promise<RunResult> {
  const result = await runInGroup(context, group, event, unit)
  if (result.status === 'failed' || group.events.length === 1) return result
  const traces = await group.findTraces()
  return traces === undefined
    ? result
    : failedRun(new TracesLeftError(traces), unit.handlers[0] as Handler, result)
}

function reportCommitted(context: RunGroupContext, settled: readonly SettledEvent[]): void {
  const { outbox, sizes } = context
  if (settled.some(({ hasSent }) => hasSent)) outbox.onCommitted()
  const counts = new Map<Topic, number>()
  for (const each of settled) {
    reportSettlement(context, each)
    const { topic } = each.event
    counts.set(topic, (counts.get(topic) ?? 0) + 1)
  }
  for (const [topic, count] of counts) sizes.succeeded(topic, count)
}
