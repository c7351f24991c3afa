import { UnreadableError } from '../errors.ts'
import { areSealed } from '../model/sealed-headers.ts'
import { describeStale, isStale } from '../ordering/is-stale.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import { failedRun } from './failed-run.ts'
import type { Handler, HandlerUnit } from './handler-unit.ts'
import type { RunFailed, RunSkipped } from './run-result.ts'

/** How an event ends before any of its handlers is called, in a group and step by step alike. */
export function findEarlyEnd(
  event: ClaimedEvent,
  unit: HandlerUnit,
): RunFailed | RunSkipped | undefined {
  return findUnreadable(event, unit) ?? findStale(event, unit)
}

/**
 * Whether what is stored of the event cannot be decrypted. No handler is called with it: not with nothing, and not with
 * what is encrypted, which a store without keys hands over as it is.
 */
function findUnreadable(event: ClaimedEvent, unit: HandlerUnit): RunFailed | undefined {
  const error = event.unreadable ?? findSealed(event)
  return error && failedRun(error, unit.handlers[0] as Handler, { durationMs: 0 })
}

function findSealed({ headers, eventId }: ClaimedEvent): UnreadableError | undefined {
  return areSealed(headers)
    ? new UnreadableError('ENCRYPTION_KEY_MISSING', `events.body of ${eventId}`)
    : undefined
}

/**
 * Whether a later version was applied. What was is known from the claim, and stays so: no other event of the lane
 * runs meanwhile, and this one writes its version when it is settled.
 */
function findStale(
  { lane, run }: ClaimedEvent,
  { order, handlers }: HandlerUnit,
): RunSkipped | RunFailed | undefined {
  if (order?.mode !== 'latest' || lane?.version === undefined) return undefined
  const { version, applied } = lane
  if (!isStale(version, applied)) return undefined
  const reason = describeStale(version, applied)
  if (run === 0) return { status: 'skipped', reason, durationMs: 0, hasSent: false }
  return replayOvertaken(reason, handlers[0] as Handler)
}

/**
 * A replay that was not stale when it was asked for. Skipped, the event would be so where it was done before, and the
 * person who wanted it to run would not hear of it.
 */
function replayOvertaken(reason: string, { name: handler, retry }: Handler): RunFailed {
  const error = new Error(`${reason}: the replay came too late, discard it`)
  return {
    status: 'failed',
    reason: 'order',
    error,
    handler,
    retry,
    isPermanent: true,
    durationMs: 0,
    trouble: undefined,
  }
}
