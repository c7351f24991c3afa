/**
 * What happens to a group that could not be committed.
 *
 * Everything it did is rolled back. The event that is to blame gets a failed attempt, written from
 * outside the transaction that is gone; when it is not known which event that is, each runs alone from now on,
 * where it shows. Whatever the reason, it may not come back unchanged for ever: an event at the head of
 * the queue that makes every group fail would stop all the others behind it.
 *
 * @module
 */

import {
  asError,
  CommitUnknownError,
  HookonceError,
  SettingRefusedError,
  StoreUnavailableError,
  TracesLeftError,
} from '../../errors.ts'
import { ranOf } from '../../model/outcome.ts'
import type { FailureReason } from '../../model/outcome.ts'
import type { ClaimedEvent } from '../../store/contract/claimed-event.ts'
import type { Group } from '../../store/contract/group.ts'
import type { Store } from '../../store/contract/store.ts'
import { findOnlyHandler } from '../handler-unit.ts'
import type { HandlerUnit } from '../handler-unit.ts'
import { reportSettlement } from '../report-settlement.ts'
import type { SettlementListener } from '../report-settlement.ts'
import { RETRY_DEFAULTS } from '../../model/retry-policy.ts'
import { InterruptedError } from '../../flow/interruption.ts'
import type { RunResult } from '../run-result.ts'
import { failureSettlement } from '../settlement.ts'
import type { SettledEvent } from '../settlement.ts'

export interface AbandonContext extends SettlementListener {
  readonly store: Pick<Store<unknown>, 'queue' | 'findTrouble'>
  readonly findUnit: (event: ClaimedEvent) => HandlerUnit | undefined
  /** From now on these run alone: alone each shows whether it is the one. */
  readonly runAlone: (events: readonly ClaimedEvent[]) => void
}

/** A handler, or a library it uses, ended our transaction while this event's handlers ran. */
export class GroupEndedError extends Error {
  readonly event: ClaimedEvent

  constructor(event: ClaimedEvent) {
    super('The handler ended the transaction')
    this.event = event
  }
}

/** The connection went away while this event's handlers ran. */
export class GroupLostError extends Error {
  readonly event: ClaimedEvent
  readonly result: RunResult

  constructor(event: ClaimedEvent, result: RunResult) {
    super('The connection was lost while the handler ran')
    this.event = event
    this.result = result
  }
}

/** The event was no longer this worker's when its handler wanted to write. */
export class GroupTakenError extends Error {
  constructor() {
    super('The event was taken from this worker while its handler ran')
  }
}

/** For an error before COMMIT. Says whether a failed attempt was written. */
export async function abandonGroup<Tx>(
  context: AbandonContext,
  group: Group<Tx>,
  { events, error }: { events: readonly ClaimedEvent[]; error: unknown },
): Promise<boolean> {
  const isLost = group.status() === 'lost'
  const isGone = isEnded(group, error)
  await group.abandon()
  if (error instanceof GroupEndedError) return await blame(context, error.event, ended())
  if (error instanceof GroupLostError && !isReadOnly(error.result)) {
    const cause = error.result.status === 'failed' ? error.result.error : error
    return await blame(context, error.event, {
      reason: 'connection',
      error: cause,
      isPermanent: false,
      startedMs: error.result.startedMs,
    })
  }
  // Lost between two handlers, a connection says nothing about either.
  if (isLost || isFaultOfNoEvent(error)) {
    giveBack(context, events, error)
    return false
  }
  if (isGone) return await suspect(context, events, ended())
  // A handler that waited for a lock in vain has failed, and does not come here. This was met while its outcome was
  // written: another, perhaps a pruner, held a lock for too long. An event that ran alone would lose an attempt for it,
  // and the events of a group would run alone from now on.
  if (context.store.findTrouble(error) === 'contended') {
    giveBack(context, events, error)
    return false
  }
  const reason = { reason: 'commit', error: asError(error), isPermanent: false } as const
  return await suspect(context, events, reason)
}

/** For a COMMIT that the database refused, for example by a deferred constraint. As `abandonGroup`. */
export async function blameForRefusal(
  context: AbandonContext,
  settled: readonly SettledEvent[],
  error: Error,
): Promise<boolean> {
  const events = settled.map(({ event }) => event)
  const [only] = settled
  const startedMs = only && ranOf(only.settlement)?.startedMs
  return await suspect(context, events, { reason: 'commit', error, isPermanent: false, startedMs })
}

/** Whether the error says that our transaction is gone although the connection is not. */
export function isEnded<Tx>(group: Group<Tx>, error: unknown): boolean {
  return (
    error instanceof HookonceError &&
    error.code === 'TRANSACTION_ENDED' &&
    group.status() !== 'lost'
  )
}

interface Blame {
  readonly reason: FailureReason
  readonly error: Error
  readonly isPermanent: boolean
  /** When the event's handlers began, where that is known. */
  readonly startedMs?: number | undefined
}

function ended(): Blame {
  return {
    reason: 'transaction',
    error: new HookonceError(
      'TRANSACTION_ENDED',
      'The handler ended the transaction it was given (COMMIT, ROLLBACK or BEGIN). Its writes and the fact ' +
        '"done" can no longer commit together, so the event was stopped',
    ),
    isPermanent: true,
  }
}

async function suspect(
  context: AbandonContext,
  events: readonly ClaimedEvent[],
  reason: Blame,
): Promise<boolean> {
  const [only] = events
  if (events.length === 1 && only !== undefined) return await blame(context, only, reason)
  context.runAlone(events)
  context.happenings.emit('group.rerun', { size: events.length, cause: reason.error })
  return false
}

/** Best effort: if it cannot be written, the event simply runs again. Says whether it was. */
async function blame(
  context: AbandonContext,
  event: ClaimedEvent,
  { reason, error, isPermanent, startedMs }: Blame,
): Promise<boolean> {
  const unit = context.findUnit(event)
  const retry = unit?.handlers[0]?.retry ?? RETRY_DEFAULTS
  const settlement = failureSettlement(event, unit?.attemptsMax ?? retry.attemptsMax, {
    reason,
    error,
    handler: findOnlyHandler(unit)?.name,
    isPermanent,
    retry,
    durationMs: 0,
    startedMs,
  })
  const isWritten = await context.store.queue.settleLost(settlement).catch(() => false)
  if (isWritten) reportSettlement(context, { event, settlement, error })
  else context.happenings.emit('group.given-back', { size: 1, cause: error.message })
  return isWritten
}

function giveBack(context: AbandonContext, events: readonly ClaimedEvent[], error: unknown): void {
  const cause =
    error instanceof InterruptedError ? 'the worker was stopped' : asError(error).message
  context.happenings.emit('group.given-back', { size: events.length, cause })
}

/**
 * The worker is stopped, the database is away, a failover goes on, another has the event, or a handler was not to
 * be grouped.
 */
function isFaultOfNoEvent(error: unknown): boolean {
  return (
    error instanceof InterruptedError ||
    error instanceof StoreUnavailableError ||
    error instanceof CommitUnknownError ||
    error instanceof SettingRefusedError ||
    error instanceof TracesLeftError ||
    error instanceof GroupLostError ||
    error instanceof GroupTakenError
  )
}

/** A server in recovery takes no writes, and no event is to blame for it. */
function isReadOnly(result: RunResult): boolean {
  return result.status === 'failed' && result.trouble === 'read-only'
}
