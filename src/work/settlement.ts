import type { FailedAttempt, FreedLane, RunSpan, Settlement } from '../model/outcome.ts'
import { findLane } from '../ordering/place-event.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import { describeCauses, describeMessage, describeStack } from '../telemetry/describe-error.ts'
import type { HandlerUnit } from './handler-unit.ts'
import { backoffMs } from '../model/retry-policy.ts'
import type { RunFailed, RunResult } from './run-result.ts'
import { RetryAfterError } from '../model/handler-results.ts'

/** An event with what became of it. */
export interface SettledEvent {
  readonly event: ClaimedEvent
  readonly unit: HandlerUnit | undefined
  readonly settlement: Settlement
  readonly error: Error | undefined
  /** Whether messages were written with it, which can leave after COMMIT. */
  readonly hasSent: boolean
}

/** An event whose handlers ended like this, with what is written for it. */
export function settleRun(event: ClaimedEvent, unit: HandlerUnit, result: RunResult): SettledEvent {
  const settlement = settlementOf(event, unit, result)
  return result.status === 'failed'
    ? { event, unit, settlement, error: result.error, hasSent: false }
    : { event, unit, settlement, error: undefined, hasSent: result.hasSent }
}

/** What is written for an event whose handlers ended like this. */
export function settlementOf(
  event: ClaimedEvent,
  unit: HandlerUnit,
  result: RunResult,
): Settlement {
  const { eventId, run, attempt } = event
  const ended = {
    eventId,
    run,
    attempt,
    durationMs: Math.round(result.durationMs),
    ran: spanFrom(result.startedMs),
  }
  switch (result.status) {
    case 'done': {
      const done = { state: 'done', ...ended, result: result.result } as const
      return unit.awaitedBy.length === 0 ? done : { ...done, frees: listFreed(event, unit) }
    }
    case 'skipped':
      return { state: 'skipped', ...ended, reason: cut(result.reason) }
    case 'failed':
      return failureSettlement(event, unit.attemptsMax, result)
  }
}

/** Of an event that has no lane for those that wait, none of them waits. */
function listFreed(event: ClaimedEvent, { awaitedBy }: HandlerUnit): readonly FreedLane[] {
  return awaitedBy.flatMap((order) => {
    try {
      const { id, source, key } = findLane(order, event)
      return [{ id, source, key, type: event.type }]
    } catch {
      return []
    }
  })
}

/** A retry while there are attempts left and it may help, else death. */
export function failureSettlement(
  event: ClaimedEvent,
  attemptsMax: number,
  { reason, error, handler, retry, isPermanent, durationMs, startedMs }: FailedRun,
): Extract<Settlement, { state: 'ready' | 'dead' }> {
  const { eventId, run, attempt } = event
  const failure: FailedAttempt = {
    attempt,
    reason,
    message: describeMessage(error),
    durationMs: Math.round(durationMs),
    ran: spanFrom(startedMs),
    handler,
    stack: describeStack(error),
    cause: describeCauses(error),
  }
  if (isPermanent || attempt >= attemptsMax) {
    return {
      state: 'dead',
      eventId,
      run,
      attempt,
      durationMs: failure.durationMs,
      reason: reasonOf(failure),
      failure,
    }
  }
  const retryInMs = error instanceof RetryAfterError ? error.retryInMs : backoffMs(retry, attempt)
  return { state: 'ready', eventId, run, attempt, retryInMs, failure }
}

/** To now, which is when the handlers have ended. */
function spanFrom(startedMs: number | undefined): RunSpan | undefined {
  return startedMs === undefined ? undefined : { startedMs, endedMs: performance.now() }
}

type FailedRun = Omit<RunFailed, 'status' | 'trouble'>

/** With what it comes down to, which some libraries do not say in the message. */
function reasonOf({ message, cause }: FailedAttempt): string {
  const root = cause?.split('\n').at(-1)
  return root === undefined ? message : cut(`${message}, caused by ${root}`)
}

const TEXT_LENGTH_MAX = 8_192

/** PostgreSQL's text cannot hold a NUL, and a person reads no more than this. */
function cut(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').slice(0, TEXT_LENGTH_MAX)
}
