/**
 * Transactions for code that reads what handlers have written.
 *
 * Each has a connection of its own: the store's reader ends its transaction before anything else can run, and code that
 * is waited for cannot. In WAL mode it waits for no writer and holds up none.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { Reading, ReadingStore } from '../contract/readings.ts'
import type { LentTx } from '../contract/transaction.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { LentSqliteTx } from './lent-tx.ts'
import type { Lender } from './lent-tx.ts'
import type { SqliteTx } from './tx.ts'

/** The part of the store that lends transactions in which nothing can be written. */
export function createReadings(connections: Connections): ReadingStore<SqliteTx> {
  return {
    open: async ({ idleTimeoutMs }) =>
      new SqliteReading(await connections.openReading(), idleTimeoutMs),
  }
}

class SqliteReading implements Reading<SqliteTx>, Lender {
  readonly #connection: Connection
  readonly #idleTimer: NodeJS.Timeout
  #isClosed = false

  constructor(connection: Connection, idleTimeoutMs: number) {
    this.#connection = connection
    // While it is open, the log keeps all that was written since.
    this.#idleTimer = setTimeout(() => void this.close(), idleTimeoutMs).unref()
  }

  lend(): LentTx<SqliteTx> {
    return new LentSqliteTx(this, { isAlone: true })
  }

  status(): 'open' | 'ended' {
    return !this.#isClosed && this.#connection.inTransaction() ? 'open' : 'ended'
  }

  async close(): Promise<void> {
    clearTimeout(this.#idleTimer)
    if (this.#isClosed) return
    this.#isClosed = true
    this.#connection.close()
  }

  openNow(): boolean {
    this.#requireOpen()
    return true
  }

  async open(): Promise<void> {
    this.#requireOpen()
  }

  /** All that it is called with goes on: a library that asked for lists would read nothing from rows that are objects. */
  query(...statement: Parameters<Lender['query']>): ReturnType<Lender['query']> {
    this.#requireOpen()
    return this.#connection.query(...statement)
  }

  execute(sql: string): void {
    this.#requireOpen()
    this.#connection.executeLent(sql)
  }

  #requireOpen(): void {
    if (this.status() !== 'open')
      throw new HookonceError('TRANSACTION_ENDED', 'The transaction has ended')
    this.#idleTimer.refresh()
  }
}
