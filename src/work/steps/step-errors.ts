/**
 * How a run of step handlers can fail, and what that means.
 *
 * @module
 */

import { CommitUnknownError, HookonceError, StoreUnavailableError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { FailureReason } from '../../model/outcome.ts'
import { failedRun } from '../failed-run.ts'
import type { Handler } from '../handler-unit.ts'
import type { RunFailed } from '../run-result.ts'

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

/** What an error of a handler that goes step by step means: what it means of any, and what only steps can meet. */
export function failedSteps(thrown: unknown, handler: Handler, durationMs: number): RunFailed {
  // Without what the store says of it: a step that met another transaction was tried again in its place.
  const run = failedRun(thrown, handler, { durationMs })
  const { error } = run
  const code = error instanceof HookonceError ? error.code : undefined
  return {
    ...run,
    reason: reasonOf(error, code) ?? run.reason,
    isPermanent: run.isPermanent || (code !== undefined && PERMANENT.has(code)),
  }
}

/** The same handler does the same thing with the same event: trying again would not help. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set([
  'STEP_INVALID',
  'STEP_HISTORY_CHANGED',
  'STEP_UNKNOWN',
  'TRANSACTION_ENDED',
])

function reasonOf(error: Error, code: ErrorCode | undefined): FailureReason | undefined {
  if (error instanceof StepRefusedError) return 'commit'
  if (error instanceof StoreUnavailableError || error instanceof CommitUnknownError)
    return 'connection'
  switch (code) {
    case 'STEP_HISTORY_CHANGED':
      return 'history'
    case 'STEP_UNKNOWN':
      return 'unknown'
    case 'TRANSACTION_ENDED':
      return 'transaction'
    default:
      return undefined
  }
}
