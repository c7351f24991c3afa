import { asError, HookonceError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import { PermanentError } from '../model/handler-results.ts'
import type { FailureReason } from '../model/outcome.ts'
import type { StoreTrouble } from '../store/contract/store-trouble.ts'
import type { Handler } from './handler-unit.ts'
import type { RunFailed, RunTimes } from './run-result.ts'

/** What an error of a handler means for its event. */
export function failedRun(
  thrown: unknown,
  handler: Handler,
  { durationMs, startedMs, trouble }: RunTimes & { trouble?: StoreTrouble | undefined },
): RunFailed {
  const error = asError(thrown)
  const code = error instanceof HookonceError ? error.code : undefined
  return {
    status: 'failed',
    reason: reasonOf(code),
    error,
    handler: handler.name,
    retry: handler.retry,
    // The same handler returns the same thing for the same event: trying again would not help.
    isPermanent: error instanceof PermanentError || (code !== undefined && PERMANENT.has(code)),
    trouble,
    durationMs,
    startedMs,
  }
}

const PERMANENT: ReadonlySet<ErrorCode> = new Set([
  'DECRYPT_FAILED',
  'MESSAGE_MISMATCH',
  'PAYLOAD_INVALID',
  'RESULT_INVALID',
])

function reasonOf(code: ErrorCode | undefined): FailureReason {
  switch (code) {
    case 'HANDLER_TIMEOUT':
      return 'timeout'
    case 'DECRYPT_FAILED':
    case 'ENCRYPTION_KEY_MISSING':
    case 'PAYLOAD_INVALID':
      return 'payload'
    case 'TRANSACTION_ABORTED':
      return 'transaction'
    default:
      return 'error'
  }
}
