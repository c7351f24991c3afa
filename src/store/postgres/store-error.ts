import {
  asError,
  HookonceError,
  StoreRejectedError,
  StoreUnavailableError,
  TransactionAbortedError,
} from '../../errors.ts'
import type { StoreTrouble } from '../contract/store-trouble.ts'

/**
 * What an error from a statement means: the row is at fault, or the database is.
 *
 * Data, constraint, limit, syntax or permission, and what a trigger raises (classes 22, 23, 54, 42,
 * P0) will not go away by waiting. Everything else may.
 */
export function asStoreError(error: unknown): HookonceError {
  if (error instanceof HookonceError) return error
  const state = findSqlState(error)
  const message = error instanceof Error ? error.message : String(error)
  if (state !== undefined && /^(?:22|23|54|42|P0)/.test(state)) {
    return new StoreRejectedError(`PostgreSQL refused a statement (${state}): ${message}`, {
      cause: error,
    })
  }
  const code = state === undefined ? '' : ` (${state})`
  return new StoreUnavailableError(`PostgreSQL failed${code}: ${message}`, { cause: error })
}

/** Why there is no connection, in words. For a name with several addresses Node gives one error for each, and no text. */
export function describeCause(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '')
    return cause.errors.map(describeCause).join('; ')
  const { message } = asError(cause)
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : ''
  return message === '' ? String(code) : message
}

/**
 * The five characters by which PostgreSQL names an error; `undefined` for one that did not come from it.
 *
 * A row that found the partition of a new week being made is called a serialization failure, which it is.
 */
export function findSqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  // Errors of sockets have codes such as EPIPE, but no severity.
  if (!('severity' in error)) return undefined
  if (metNewPartition(error)) return SERIALIZATION_FAILURE
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}

const SERIALIZATION_FAILURE = '40001'

/**
 * Whether a row was on its way to one of our default partitions while another process attached the partition of
 * that week. PostgreSQL refuses the row as a violated constraint (23514), and takes it when it is sent again.
 */
function metNewPartition(error: PgFailure): boolean {
  return (
    error.code === '23514' &&
    error.routine === 'ExecPartitionCheckEmitError' &&
    DEFAULT_PARTITIONS.has(error.table)
  )
}

interface PgFailure {
  readonly code: unknown
  readonly routine?: unknown
  readonly table?: unknown
}

const DEFAULT_PARTITIONS: ReadonlySet<unknown> = new Set([
  'events_default',
  'requests_default',
  'outcomes_default',
  'attempts_default',
])

/** The same of what is behind an error of ours. */
export function findStateBehind(error: unknown): string | undefined {
  return findSqlState(error instanceof HookonceError ? error.cause : error)
}

/** Of an error or of what it was caused by: libraries wrap what the driver throws. */
export function findTrouble(error: unknown): StoreTrouble | undefined {
  for (const state of statesOf(error)) {
    const trouble = TROUBLES.get(state)
    if (trouble !== undefined) return trouble
  }
  return undefined
}

/** Of an error of the user's own driver, or of what a library has wrapped it in. */
export function hasSqlState(error: unknown, wanted: string): boolean {
  for (const state of statesOf(error)) if (state === wanted) return true
  // Prisma says it in its message alone.
  return error instanceof Error && error.message.includes(`Code: \`${wanted}\``)
}

function* statesOf(error: unknown): Generator<string> {
  for (let cause = error, depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (!(cause instanceof Error)) return
    const state = findSqlState(cause)
    if (state !== undefined) yield state
    cause = cause.cause ?? (cause as Wrapping).parent
  }
}

/** Sequelize says `parent` where others say `cause`. */
type Wrapping = Error & { readonly parent?: unknown }

const CAUSES_MAX = 8

/** The code of "current transaction is aborted". */
const IN_FAILED_TRANSACTION = '25P02'

/** Throws the error on, or what it means when an earlier statement of the transaction has failed. */
export function refuseAborted(error: unknown): never {
  if (hasSqlState(error, IN_FAILED_TRANSACTION))
    throw new TransactionAbortedError(undefined, { cause: error })
  throw error
}
const TROUBLES: ReadonlyMap<string, StoreTrouble> = new Map([
  // A lock timeout, a deadlock, a serialization failure.
  ['55P03', 'contended'],
  ['40P01', 'contended'],
  ['40001', 'contended'],
  ['25006', 'read-only'],
])

/** Errors that a transaction is tried again for: a deadlock, and what a stricter isolation would raise. */
export function isRetryable(error: unknown): boolean {
  const state = findSqlState(error)
  return state === '40P01' || state === '40001'
}

/** What our functions raise where a call that commits by itself is not under READ COMMITTED. */
export const ISOLATION_REFUSED = '25001'

/** PostgreSQL ends the connection with it, perhaps just after the transaction was committed. */
const TRANSACTION_TIMEOUT = '25P04'

/** Whether the role's `transaction_timeout` was over. It may be the cause of not knowing what was committed. */
export function isTransactionTimeout(error: unknown): boolean {
  return findStateBehind(error) === TRANSACTION_TIMEOUT
}

/**
 * A statement that is its own transaction has the defaults of its role: a stricter isolation (25001,
 * raised by the function), read only (25006), a short statement_timeout (57014) or transaction_timeout (25P04).
 * A transaction that we open ourselves has ours.
 */
export const DEFAULTS_REFUSED: ReadonlySet<string> = new Set([
  ISOLATION_REFUSED,
  '25006',
  '57014',
  TRANSACTION_TIMEOUT,
])

/**
 * Whether a statement that was its own transaction, and did nothing, may succeed in one of ours. A
 * serialization failure counts, since READ COMMITTED knows none; and for a deadlock it is another try.
 */
export function isRefusedByDefaults(error: unknown): boolean {
  return DEFAULTS_REFUSED.has(findSqlState(error) ?? '') || isRetryable(error)
}
