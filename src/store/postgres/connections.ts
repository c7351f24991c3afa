/**
 * The connections a store works with: those it takes from the pool for one thing and gives back, and
 * the one it keeps. All of them are given up when the store is closed.
 *
 * @module
 */

import { HookonceError, StoreUnavailableError } from '../../errors.ts'
import { quoteName } from '../shared/quote-name.ts'
import { checkOut } from './check-out.ts'
import { createSchemaBinding } from './connection.ts'
import type { Connection, ServerTraits, TextRow } from './connection.ts'
import { ControlConnection } from './control-connection.ts'
import type { PgPool } from './driver.ts'
import { describeDatabase } from './options.ts'
import {
  asStoreError,
  describeCause,
  findSqlState,
  ISOLATION_REFUSED,
  isRefusedByDefaults,
  isTransactionTimeout,
} from './store-error.ts'
import { inTransaction, transact } from './transaction.ts'
import type { TransactionSettings } from './transaction.ts'

/** How long anything but a batch of events and a handler may take. */
const STATEMENT_TIMEOUT_MS = 10_000
const SHORT: TransactionSettings = {
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  lockTimeoutMs: 5_000,
}

/**
 * On the kept connection everything is short, and a heartbeat waits behind it: after an outage in which nothing was
 * answered, a heart must beat again well within the time after which its worker is taken for dead.
 */
const CONTROL_TIMEOUT_MS = 5_000
const ON_CONTROL: TransactionSettings = {
  statementTimeoutMs: CONTROL_TIMEOUT_MS,
  lockTimeoutMs: 2_500,
}

export class Connections {
  readonly #pool: PgPool
  readonly #bind
  readonly #control: ControlConnection
  #server: ServerTraits | undefined
  #isClosed = false
  #isListening = false
  #mayCommitAtOnce = true

  constructor(pool: PgPool, schema: string) {
    this.#pool = pool
    this.#bind = createSchemaBinding(quoteName(schema))
    this.#control = new ControlConnection(() => this.checkOut(), CONTROL_TIMEOUT_MS)
  }

  /** For those that are checked out from now on. */
  noteServer(server: ServerTraits): void {
    this.#server = server
  }

  /** From now on nothing is checked out. What is, is not touched. */
  refuseFurther(): void {
    this.#isClosed = true
  }

  /** Returns the kept connection, after what it is doing, and listens to the pool no more. */
  async close(): Promise<void> {
    this.refuseFurther()
    await this.#control.close()
    this.#pool.removeListener?.('error', this.#onPoolError)
    this.#isListening = false
  }

  async checkOut(timeoutMs = STATEMENT_TIMEOUT_MS): Promise<Connection> {
    if (this.#isClosed) throw new StoreUnavailableError('The store is closed')
    return checkOut(this.#pool, this.#bind, timeoutMs, this.#server)
  }

  /**
   * Lends a connection for one statement, outside any transaction. Where the role's defaults refuse it,
   * it is run in a transaction that has ours: a read after a short `statement_timeout`, a write under
   * `default_transaction_read_only`.
   */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.checkOut()
    try {
      return await work(connection)
    } catch (error) {
      if (!isRefusedByDefaults(error)) throw asStoreError(error)
    } finally {
      connection.returnToPool()
    }
    return this.transact(work)
  }

  async transact<T>(
    work: (connection: Connection) => Promise<T>,
    settings: TransactionSettings = SHORT,
  ): Promise<T> {
    const connection = await this.checkOut()
    if (settings.statementTimeoutMs > STATEMENT_TIMEOUT_MS)
      connection.limitEachTo(settings.statementTimeoutMs)
    try {
      return await inTransaction(connection, settings, async () => work(connection))
    } catch (error) {
      throw asStoreError(error)
    }
  }

  /**
   * Runs one statement as a transaction of its own, and returns its rows when it is durable: one round
   * trip where `transact` takes three. Its function refuses defaults of the role that would break a
   * promise; then it runs in a transaction that has ours.
   *
   * @throws CommitUnknownError when it is not known whether it was committed
   */
  async commitQuery<Names extends string>(
    sql: string,
    values: unknown[],
  ): Promise<readonly TextRow<Names>[]> {
    return (
      (await this.#commitAtOnce<Names>(sql, values)) ??
      this.transact(async (own) => (await own.query<Names>(sql, values)).rows)
    )
  }

  /** `undefined` where nothing could be done this way. */
  async #commitAtOnce<Names extends string>(
    sql: string,
    values: unknown[],
  ): Promise<readonly TextRow<Names>[] | undefined> {
    if (!this.#mayCommitAtOnce) return undefined
    const connection = await this.checkOut()
    try {
      if (!connection.tellsStatus) return undefined
      return (await connection.commitQuery<Names>(sql, values)).rows
    } catch (error) {
      if (isTransactionTimeout(error)) this.#mayCommitAtOnce = false
      if (!isRefusedByDefaults(error)) throw asStoreError(error)
      // The word of our own function: it would be the same for the next call, and a line in the server's log each time.
      if (findSqlState(error) === ISOLATION_REFUSED) this.#mayCommitAtOnce = false
      return undefined
    } finally {
      connection.returnToPool()
    }
  }

  /**
   * Lends the kept connection for one statement, so that it need not wait behind handlers for a place in
   * the pool. As in `use`, the role's defaults do not count.
   */
  async useControl<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.#control.run(work)
    } catch (error) {
      if (!(error instanceof HookonceError) || !isRefusedByDefaults(error.cause)) throw error
    }
    return this.transactOnControl(work)
  }

  /**
   * On the kept connection if there is one. A process that runs no handlers has none, and must not keep one
   * for this: its pool may have no other.
   */
  async useMade<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#control.isMade ? this.useControl(work) : this.use(work)
  }

  async transactOnControl<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#control.run(async (connection) =>
      transact(connection, ON_CONTROL, async () => work(connection)),
    )
  }

  /** The first contact, whose failure says where we looked. */
  async reach(work: (connection: Connection) => Promise<void>): Promise<void> {
    this.#listenToPool()
    try {
      await this.use(work)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      const reason = error.cause === undefined ? error.message : describeCause(error.cause)
      const where = describeDatabase(this.#pool)
      throw new StoreUnavailableError(`Cannot use PostgreSQL (database ${where}): ${reason}`, {
        cause: error,
      })
    }
  }
  /** A pool emits `error` for an idle client that was lost, and without a listener that ends the process. */
  #listenToPool(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#pool.on?.('error', this.#onPoolError)
  }

  /** One for each store, so that a store that is closed takes away its own. The client is gone from the pool already. */
  readonly #onPoolError = (): void => undefined
}
