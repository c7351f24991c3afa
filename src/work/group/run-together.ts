/**
 * The fast path of a group: its events one after the other, with no savepoint between them. The first failure
 * spoils it.
 *
 * What handlers write without waiting for it (`tx.write`) is sent for many events at once: after the first of
 * them, then after as many again as were answered before, so that no more is on its way than has shown how
 * long it takes. Which event's write failed cannot be told; it shows when they run one by one.
 *
 * @module
 */

import { asError, HookonceError, SettingRefusedError, TracesLeftError } from '../../errors.ts'
import type { ClaimedEvent } from '../../store/contract/claimed-event.ts'
import type { Group } from '../../store/contract/group.ts'
import { LoopBreaks } from '../../flow/loop-breaks.ts'
import { InterruptedError } from '../../flow/interruption.ts'
import { GroupEndedError, GroupLostError } from './abandon-group.ts'
import { RunClock } from '../run-clock.ts'
import { endOf } from './run-event.ts'
import { noteContention, runInGroup, unhandled } from './run-in-group.ts'
import type { RunInGroupContext } from './run-in-group.ts'
import { settleRun } from '../settlement.ts'
import type { SettledEvent } from '../settlement.ts'

export type Together =
  { readonly status: 'ran'; readonly settled: readonly SettledEvent[] } | Spoiled

interface Spoiled {
  readonly status: 'spoiled'
  readonly cause: Error
  /** Another transaction was in the way, and no event is to blame. */
  readonly isContended: boolean
  /** How many had run before, and had all they wrote answered. */
  readonly ranBefore: number
}

export async function runTogether<Tx>(
  context: RunInGroupContext,
  group: Group<Tx>,
  events: readonly ClaimedEvent[],
): Promise<Together> {
  const settled: SettledEvent[] = []
  const startedAt = performance.now()
  const breaks = new LoopBreaks()
  let answered = 0
  for (const event of events) {
    if (breaks.isDue) await breaks.take()
    const spentMs = performance.now() - startedAt
    if (settled.length > 0 && context.sizes.isOver(spentMs, settled.length)) break
    if (context.isStopping()) break
    const unit = context.findUnit(event)
    if (unit === undefined) {
      settled.push(unhandled(event))
      if (event.lane !== undefined) break
      continue
    }
    const hadWrites = group.hasWrites()
    const result = await runInGroup(context, group, event, unit, { defersWrites: true }).catch(
      (error: unknown) => {
        throw hadWrites ? excuse(context, error, [...settled.slice(answered), { event }]) : error
      },
    )
    if (result.status === 'failed') {
      if (result.error instanceof SettingRefusedError) {
        context.sizes.neverGroup(unit)
        throw result.error
      }
      const isContended = result.trouble === 'contended'
      if (isContended) noteContention(context, event, unit)
      const ranBefore = hadWrites ? answered : settled.length
      return { status: 'spoiled', cause: result.error, isContended, ranBefore }
    }
    settled.push(settleRun(event, unit, result))
    if (settled.length < 2 * answered || !group.hasWrites()) continue
    const spoiled = await sendWrites(context, group, settled, answered)
    if (spoiled !== undefined) return spoiled
    answered = settled.length
  }
  const spoiled = group.hasWrites()
    ? await sendWrites(context, group, settled, answered)
    : undefined
  return spoiled ?? (await findSpoiling(group, settled)) ?? { status: 'ran', settled }
}

/** Whether one of them may have met what another has left. */
async function findSpoiling<Tx>(
  group: Group<Tx>,
  settled: readonly SettledEvent[],
): Promise<Spoiled | undefined> {
  if (settled.filter(({ unit }) => unit !== undefined).length < 2) return undefined
  const traces = await group.findTraces()
  if (traces === undefined) return undefined
  const cause = new TracesLeftError(traces)
  return { status: 'spoiled', cause, isContended: false, ranBefore: 0 }
}

/** Sends what those from `answered` on have written. */
async function sendWrites<Tx>(
  context: RunInGroupContext,
  group: Group<Tx>,
  settled: readonly SettledEvent[],
  answered: number,
): Promise<Spoiled | undefined> {
  const senders = settled.slice(answered)
  const units = new Set(senders.flatMap(({ unit }) => unit ?? []))
  const startedAt = performance.now()
  const timeoutMs = Math.max(...[...units].map((unit) => unit.timeoutMs))
  const end = await endOf(group.flush(), new RunClock(timeoutMs), context.interruption)
  const eachMs = (performance.now() - startedAt) / senders.length
  for (const { event, settlement } of senders) {
    const ranMs = 'durationMs' in settlement ? settlement.durationMs : 0
    context.sizes.measured(event.topic, ranMs + eachMs)
  }
  if (end.status === 'ended' && !('error' in end)) {
    if (group.status() === 'open') return undefined
    throw new HookonceError('TRANSACTION_ENDED', 'What a handler wrote ended the transaction')
  }
  const cause = asError(end.error)
  if (end.status === 'overdue') await group.cancel().catch(() => undefined)
  if (cause instanceof InterruptedError) throw cause
  if (group.status() === 'lost') {
    // One of them may be what the connection died of, and alone it shows.
    context.runAlone(senders.map(({ event }) => event))
    throw cause
  }
  const isContended = context.store.findTrouble(cause) === 'contended'
  if (isContended) {
    for (const { event, unit } of senders)
      if (unit !== undefined && units.delete(unit)) noteContention(context, event, unit)
  }
  return { status: 'spoiled', cause, isContended, ranBefore: answered }
}

/**
 * A statement that an event waits for is sent after what those before it wrote: what ended the connection or the
 * transaction may have been theirs, and who is blamed for it loses an attempt. Alone it shows.
 */
function excuse(
  context: RunInGroupContext,
  error: unknown,
  senders: readonly { readonly event: ClaimedEvent }[],
): unknown {
  if (!(error instanceof GroupLostError || error instanceof GroupEndedError)) return error
  context.runAlone(senders.map(({ event }) => event))
  return new HookonceError('TRANSACTION_ENDED', error.message, { cause: error })
}
