/**
 * How a run of step handlers can fail, and what that means.
 *
 * @module
 */

import { asError, CommitUnknownError, HookonceError, StoreUnavailableError } from '../../errors.ts'
import type { FailureReason } from '../../model/outcome.ts'
import type { Handler } from '../handler-unit.ts'
import type { RunFailed } from '../group/run-event.ts'
import { PermanentError } from '../../model/handler-results.ts'

/** Another worker has the event by now, or may have it. Nothing of this run may be written any more. */
export class LeaseLostError extends HookonceError {
  override readonly name = 'LeaseLostError'

  constructor() {
    super(
      'LEASE_LOST',
      'The lease of this event is lost: this worker stood still for too long, and another one may have the event by now',
      { retryable: true },
    )
  }
}

/** The database refused the COMMIT of a step. */
export class StepRefusedError extends HookonceError {
  override readonly name = 'StepRefusedError'

  constructor(step: string, cause: Error) {
    super(
      'STORE_REJECTED',
      `The transaction of step ${JSON.stringify(step)} was refused: ${cause.message}`,
      { cause, retryable: true },
    )
  }
}

export function failedSteps(thrown: unknown, handler: Handler, durationMs: number): RunFailed {
  const error = asError(thrown)
  const code = error instanceof HookonceError ? error.code : undefined
  return {
    status: 'failed',
    reason: reasonOf(error, code),
    error,
    handler: handler.name,
    retry: handler.retry,
    isPermanent: error instanceof PermanentError || (code !== undefined && PERMANENT.has(code)),
    // A step that met another transaction was tried again in its place.
    trouble: undefined,
    durationMs,
  }
}

/** The same handler does the same thing with the same event: trying again would not help. */
const PERMANENT: ReadonlySet<string> = new Set([
  'MESSAGE_MISMATCH',
  'PAYLOAD_INVALID',
  'RESULT_INVALID',
  'STEP_INVALID',
  'STEP_HISTORY_CHANGED',
  'STEP_UNKNOWN',
  'TRANSACTION_ENDED',
])

function reasonOf(error: Error, code: string | undefined): FailureReason {
  if (error instanceof StepRefusedError) return 'commit'
  if (error instanceof StoreUnavailableError || error instanceof CommitUnknownError)
    return 'connection'
  switch (code) {
    case 'HANDLER_TIMEOUT':
      return 'timeout'
    case 'PAYLOAD_INVALID':
      return 'payload'
    case 'STEP_HISTORY_CHANGED':
      return 'history'
    case 'STEP_UNKNOWN':
      return 'unknown'
    case 'TRANSACTION_ABORTED':
    case 'TRANSACTION_ENDED':
      return 'transaction'
    default:
      return 'error'
  }
}
