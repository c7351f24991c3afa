/**
 * What a transaction that is lent to a handler looks like, and how it ends.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'

export type CommitResult =
  | { readonly status: 'committed' }
  /** The database said no, and why. */
  | { readonly status: 'refused'; readonly error: Error }
  /** The connection was lost at COMMIT. */
  | { readonly status: 'unknown'; readonly error: Error }

/**
 * A transaction of the user's own: a client of `pg` in which BEGIN was sent, or what a `from…` function makes of
 * the transaction of another library.
 *
 * On PostgreSQL placeholders are `$1`, each is used once and in order, and every value is a string or `null`. On SQLite they are `?`,
 * and a value is a string, a number, bytes or `null`.
 */
export interface OwnTx {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/**
 * What measures how long a handler runs. It stands still while the store makes the handler wait for its
 * transaction, which is no doing of the handler's.
 */
export interface HandlerClock {
  pause(): void
  resume(): void
}

export interface LentTx<Tx> {
  /** What the handler gets as `ctx.tx`. */
  readonly tx: Tx
  /** Throws when a savepoint is open that the handler has not waited for: it may still have to be undone. */
  requireClosed(): void
  /**
   * What the handler was refused because it shares the transaction with other events. It is what is wrong, whatever
   * the handler throws: a library wraps the errors that it gets.
   */
  findImposed(): Error | undefined
  /** Waits for statements the handler did not wait for, then refuses every further one. Never throws. */
  revoke(): Promise<void>
  /** Sends what was written without waiting for it; throws if any of it failed. */
  flush(): Promise<void>
  /** Refuses every further statement now, without waiting. For timeouts. */
  revokeNow(): void
}

/** A transaction of the store's that it lends to handlers: that of a group, or of steps. */
export interface LendingTransaction<Tx> {
  /** Lends the transaction to one handler run, whose clock stands still while it waits for the writer. */
  lend(clock?: HandlerClock): LentTx<Tx>
  /** Stops the statement that is running, from another connection. For timeouts. */
  cancel(): Promise<void>
  /**
   * What handlers have left in the session that the next event of the transaction would meet, in words: temporary
   * objects, settings, cursors. `undefined` when there is nothing. What is left when the transaction has ended is
   * cleaned up by the store, so that only several events in one transaction have to ask.
   */
  findTraces(): Promise<string | undefined>
  /** Rolls back and returns the connection; never throws. */
  abandon(): Promise<void>
}

/** A statement whose answer its handler does not need. */
export interface Write {
  readonly text: string
  readonly values: readonly unknown[]
}

/** What `tx.write`, or another call that takes a text with a list of values, was given. */
export function requireWrite(text: unknown, values: unknown, call = 'tx.write'): Write {
  if (typeof text !== 'string') throw new OptionInvalidError(`${call} text`, 'a string', text)
  if (values !== undefined && !Array.isArray(values))
    throw new OptionInvalidError(`${call} values`, 'a list', values)
  return { text, values: values ?? [] }
}

/** What `tx.savepoint` was given. */
export function requireFunction(call: string, work: unknown): void {
  if (typeof work !== 'function') throw new OptionInvalidError(call, 'given a function', work)
}
