import type { FailedAttempt, Settlement } from '../model/outcome.ts'
import type { ClaimedEvent } from '../store/contract.ts'
import type { HandlerUnit } from './handlers.ts'
import { backoffMs } from './retry-policy.ts'
import type { RunFailed, RunResult } from './run-event.ts'
import { RetryAfterError } from './verdicts.ts'

/** An event with what became of it. */
export interface SettledEvent {
  readonly event: ClaimedEvent
  readonly unit: HandlerUnit | undefined
  readonly settlement: Settlement
  readonly error: Error | undefined
}

/** What is written for an event whose handlers ended like this. */
export function settlementOf(
  event: ClaimedEvent,
  unit: HandlerUnit,
  result: RunResult,
): Settlement {
  const { eventId, run, attempt } = event
  const durationMs = Math.round(result.durationMs)
  switch (result.status) {
    case 'done':
      return { state: 'done', eventId, run, attempt, durationMs, result: result.result }
    case 'skipped':
      return { state: 'skipped', eventId, run, attempt, durationMs, reason: cut(result.reason) }
    case 'failed':
      return failureSettlement(event, unit.attemptsMax, result)
  }
}

/** A retry while there are attempts left and it may help, else death. */
export function failureSettlement(
  event: ClaimedEvent,
  attemptsMax: number,
  { reason, error, retry, isPermanent, durationMs }: FailedRun,
): Extract<Settlement, { state: 'ready' | 'dead' }> {
  const { eventId, run, attempt } = event
  const failure: FailedAttempt = {
    attempt,
    reason,
    message: describeError(error),
    durationMs: Math.round(durationMs),
  }
  if (isPermanent || attempt >= attemptsMax) {
    return {
      state: 'dead',
      eventId,
      run,
      attempt,
      durationMs: failure.durationMs,
      reason: failure.message,
      failure,
    }
  }
  const retryInMs = error instanceof RetryAfterError ? error.retryInMs : backoffMs(retry, attempt)
  return { state: 'ready', eventId, run, attempt, retryInMs, failure }
}

type FailedRun = Omit<RunFailed, 'status' | 'contention'>

function describeError(error: Error): string {
  return cut(error.name === 'Error' ? error.message : `${error.name}: ${error.message}`)
}

const TEXT_LENGTH_MAX = 8_192

/** PostgreSQL's text cannot hold a NUL, and nobody reads more than this. */
function cut(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').slice(0, TEXT_LENGTH_MAX)
}
