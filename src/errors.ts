/**
 * Errors a caller may want to tell apart.
 *
 * Only the unexpected is thrown. A duplicate, a refused signature and a lost race are things this
 * library exists to handle, so they are return values with a name of their own.
 *
 * Every code has a heading in `docs/reference/errors.md`; `test/docs/error-codes.test.ts` checks that.
 *
 * @module
 */

/** Every code there is. */
export const ERROR_CODES = [
  'BACKFILL_STOPPED',
  'OPTION_INVALID',
  'SECRET_MISSING',
  'SOURCE_UNKNOWN',
  'SCHEMA_MISSING',
  'SCHEMA_OUTDATED',
  'SCHEMA_NEWER',
  'STORE_UNAVAILABLE',
  'STORE_FILE_CHANGED',
  'STORE_REJECTED',
  'STORE_UNSAFE',
  'COMMIT_UNKNOWN',
  'DECRYPT_FAILED',
  'ENCRYPTION_KEY_MISSING',
  'ENCRYPTION_KEY_WRONG',
  'DRIVER_MISSING',
  'TRANSACTION_EXPECTED',
  'TRANSACTION_CONTROL',
  'TRANSACTION_ENDED',
  'TRANSACTION_ABORTED',
  'TX_REVOKED',
  'HANDLER_TIMEOUT',
  'PAYLOAD_INVALID',
  'ORDER_INVALID',
  'RESULT_INVALID',
  'STEP_INVALID',
  'STEP_HISTORY_CHANGED',
  'STEP_UNKNOWN',
  'CLAIM_LOST',
  'LEASE_LOST',
  'INBOX_STARTED',
  'INBOX_STOPPED',
  'RECEIVE_FULL',
  'RETENTION_TOO_SHORT',
  'DESTINATION_BLOCKED',
  'DESTINATION_UNKNOWN',
  'MESSAGE_INVALID',
  'CONFIG_INVALID',
  'MESSAGE_MISMATCH',
  'ACCESS_DENIED',
  'ROLE_TOO_LOW',
  'REQUEST_REFUSED',
  'ATTEMPTS_EXCEEDED',
  'GATEWAY_UNAVAILABLE',
  'GATEWAY_FAILED',
] as const

/** What tells errors apart: `error.code`. */
export type ErrorCode = (typeof ERROR_CODES)[number]

/** The base of every error this package throws. Match on `code`, never on `message`. */
export class HookonceError extends Error {
  override readonly name: string = 'HookonceError'
  /** Stable across versions: a code may be added, never renamed or given a second meaning. */
  readonly code: ErrorCode
  /** Whether doing the same thing again, unchanged, may succeed. */
  readonly retryable: boolean

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { retryable?: boolean }) {
    super(message, options)
    this.code = code
    this.retryable = options?.retryable ?? false
  }
}

/** An option given by the caller cannot be used. Thrown at start-up, before any work is taken. */
export class OptionInvalidError extends HookonceError {
  override readonly name = 'OptionInvalidError'
  /** The path of the option, such as `worker.concurrency`. */
  readonly option: string

  constructor(option: string, expected: string, received: unknown)
  constructor(option: string, problem: { readonly message: string })
  constructor(option: string, problem: string | { readonly message: string }, received?: unknown) {
    super(
      'OPTION_INVALID',
      typeof problem === 'string'
        ? `${option} must be ${problem}, received ${describe(received)}`
        : problem.message,
    )
    this.option = option
  }
}

/** The database cannot be reached, or stopped answering. Nothing was done, or nothing is known to be done. */
export class StoreUnavailableError extends HookonceError {
  override readonly name: string = 'StoreUnavailableError'

  constructor(message: string, options?: ErrorOptions) {
    super('STORE_UNAVAILABLE', message, { ...options, retryable: true })
  }
}

/** A file of the SQLite database was changed under the store, which stays away until the process is started again. */
export class StoreFileChangedError extends StoreUnavailableError {
  override readonly name = 'StoreFileChangedError'
  override readonly code = 'STORE_FILE_CHANGED'
  override readonly retryable = false
}

/**
 * The connection was lost, or went silent, between sending COMMIT and hearing of it; or the disk failed in it.
 *
 * The transaction may have committed or not, and the error is the same either way.
 */
export class CommitUnknownError extends HookonceError {
  override readonly name = 'CommitUnknownError'

  /** `what` happened at COMMIT, where it is not that the connection was lost. */
  constructor(options?: ErrorOptions & { what?: string }) {
    const what = options?.what ?? 'The connection was lost at COMMIT'
    super('COMMIT_UNKNOWN', `${what}, so its outcome is not known`, { ...options, retryable: true })
  }
}

/**
 * The database answered, and refused what was sent: a row it cannot hold, a constraint, a trigger.
 *
 * For a batch it means that at least one of its rows is at fault; the others may be sent alone.
 */
export class StoreRejectedError extends HookonceError {
  override readonly name = 'StoreRejectedError'

  constructor(message: string, options?: ErrorOptions) {
    super('STORE_REJECTED', message, options)
  }
}

/**
 * What is stored encrypted cannot be read: it was changed or moved (`DECRYPT_FAILED`), or this process lacks its key
 * (`ENCRYPTION_KEY_MISSING`). Never says what is in it.
 */
export class UnreadableError extends HookonceError {
  override readonly name = 'UnreadableError'

  /** `what` cannot be read, such as "events.body of 0192…"; `keyId` where its key is missing. */
  constructor(code: 'DECRYPT_FAILED' | 'ENCRYPTION_KEY_MISSING', what: string, keyId?: string) {
    const why =
      code === 'DECRYPT_FAILED'
        ? 'it was changed in the database, or belongs to another row'
        : `it was encrypted with a key that this process does not have${keyId === undefined ? '' : ` (${JSON.stringify(keyId)})`}`
    super(code, `${code}: ${what} cannot be decrypted: ${why}`, {
      retryable: code === 'ENCRYPTION_KEY_MISSING',
    })
  }
}

/** A statement failed in the transaction, and the handler that sent it went on as if it had not. */
export class TransactionAbortedError extends HookonceError {
  override readonly name = 'TransactionAbortedError'

  constructor(transaction = 'The transaction', options?: ErrorOptions) {
    super(
      'TRANSACTION_ABORTED',
      `${transaction} was aborted by an earlier error that was swallowed: nothing of it can be kept, so let such an error through`,
      options,
    )
  }
}

/**
 * A handler tried to change a setting of a transaction that it shares with other events, which would run
 * with it, or to make something else that they would meet. Alone it may: the worker takes the hint and no
 * longer groups the handler.
 */
export class SettingRefusedError extends HookonceError {
  override readonly name = 'SettingRefusedError'

  constructor(keyword: string) {
    super(
      'TRANSACTION_CONTROL',
      `${keyword} would reach other events in the same transaction; give the handler groupMax: 1 to use it`,
      { retryable: true },
    )
  }
}

/**
 * Handlers have left something in a transaction that several events share, and the next of them would meet it.
 * Alone it does no harm: the worker finds out whose it is and no longer groups that handler.
 */
export class TracesLeftError extends HookonceError {
  override readonly name = 'TracesLeftError'

  constructor(traces: string) {
    super(
      'TRANSACTION_CONTROL',
      `A handler left something that would reach other events in the same transaction (${traces}); it runs alone from now on`,
      { retryable: true },
    )
  }
}

/** Keys would be forgotten while the sender may still deliver, and its next delivery would run again. */
export class RetentionTooShortError extends HookonceError {
  override readonly name = 'RetentionTooShortError'
  readonly source: string
  readonly retentionDays: number
  readonly retryWindowHours: number
  /** For how long a person can have the sender deliver again after that; 0 where only its own retries are counted. */
  readonly manualRedeliveryHours: number

  constructor(about: {
    readonly option: string
    readonly source: string
    readonly retentionDays: number
    readonly retryWindowHours: number
    readonly isAssumed: boolean
    readonly manualRedeliveryHours?: number
  }) {
    const { option, source, retentionDays, retryWindowHours, isAssumed } = about
    const { manualRedeliveryHours = 0 } = about
    const window = isAssumed
      ? `for how long "${source}" retries is not known, so ${retryWindowHours} h are assumed`
      : `"${source}" retries for up to ${retryWindowHours} h`
    const byHand =
      manualRedeliveryHours === 0
        ? ''
        : `, and a person can have it deliver again for ${manualRedeliveryHours} h more`
    const neededDays = Math.ceil((retryWindowHours + manualRedeliveryHours) / 24)
    super(
      'RETENTION_TOO_SHORT',
      `${option} is ${retentionDays}, but ${window}${byHand}: ` +
        'a delivery after the key is forgotten would run again. ' +
        `Set ${option} to ${neededDays} or more`,
    )
    this.source = source
    this.retentionDays = retentionDays
    this.retryWindowHours = retryWindowHours
    this.manualRedeliveryHours = manualRedeliveryHours
  }
}

/** A destination that must not be reached: an address that is not public, or a URL that is no destination. */
export class DestinationBlockedError extends HookonceError {
  override readonly name = 'DestinationBlockedError'
  readonly host: string
  /** The class of the address, or what is wrong with the URL. */
  readonly reason: string

  /** `hint` says what the user can do about it. */
  constructor(host: string, reason: string, hint = '') {
    super('DESTINATION_BLOCKED', `The destination ${host} is not connected to: ${reason}${hint}`)
    this.host = host
    this.reason = reason
  }
}

/**
 * Anything may be thrown; what is passed on is an error, with a name and a message that are text.
 *
 * Never throws: writing down how a handler ended must not fail because of what the handler threw.
 */
export function asError(thrown: unknown): Error {
  const given = asReadable(thrown)
  return isPlainError(given) ? given : new Error(describeThrown(given), { cause: given })
}

/**
 * What was thrown as it is, or an error in its place when it cannot be read: a proxy, or a getter that throws,
 * would fail the code that asks what it is.
 */
export function asReadable(thrown: unknown): unknown {
  if (thrown === null || (typeof thrown !== 'object' && typeof thrown !== 'function')) return thrown
  try {
    // As `instanceof` does, which asks for every prototype.
    Object.prototype.isPrototypeOf.call(Error.prototype, thrown)
    for (const name of READ) if (name in thrown) void Reflect.get(thrown, name)
    return thrown
  } catch {
    return new Error('Something was thrown that cannot be read')
  }
}

/** All that is read of something thrown. */
const READ = ['name', 'message', 'code', 'severity'] as const

function isPlainError(thrown: unknown): thrown is Error {
  if (!(thrown instanceof Error)) return false
  return typeof thrown.message === 'string' && typeof thrown.name === 'string'
}

/** Of an object that is no error its message, or else the names in it: what they hold may be a secret. */
function describeThrown(thrown: unknown): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return String(thrown)
    const { message } = thrown as { message?: unknown }
    if (typeof message === 'string' && message !== '') return message
    const names = Object.keys(thrown).slice(0, 10)
    return `An object that is no error was thrown, with ${names.join(', ') || 'nothing in it'}`
  } catch {
    return 'Something was thrown that cannot be read'
  }
}

/** Never the value of a string: it may be a secret that ended up in the wrong place. */
function describe(value: unknown): string {
  if (typeof value === 'string')
    return value === '' ? 'an empty string' : `a string of ${value.length} characters`
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value)
  return `a value of type ${typeof value}`
}
