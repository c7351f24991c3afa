/**
 * One connection kept for what must not wait behind handlers for a place in the pool: heartbeats,
 * announcements, sweeps, cancels.
 *
 * It is made when first needed, and anew after it was lost, with a pause that grows while that fails.
 *
 * Only PostgreSQL: on SQLite nothing waits for a place in a pool.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { StoreUnavailableError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { asStoreError, isRetryable } from './store-error.ts'

const PAUSE_MIN_MS = 50
const PAUSE_MAX_MS = 2_000
const ATTEMPTS_MAX = 3
const CLOSE_WAIT_MS = 2_000

export class ControlConnection {
  readonly #connect: () => Promise<Connection>
  readonly #statementTimeoutMs: number
  #connection: Connection | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #failures = 0
  #isClosed = false

  constructor(connect: () => Promise<Connection>, statementTimeoutMs: number) {
    this.#connect = connect
    this.#statementTimeoutMs = statementTimeoutMs
  }

  /** Whether it has its connection, which it does not give back before it is closed. */
  get isMade(): boolean {
    return this.#connection !== undefined
  }

  /**
   * Runs `work` after what was asked for before. Again if the connection turns out to be gone or
   * another transaction was in the way, so that what is run here must bear being run twice. A server that was
   * restarted leaves several dead clients in the pool, and each is found out by using it.
   */
  async run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const result = this.#tail.then(async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#attempt(work)
        } catch (error) {
          const isWorthTrying = isRetryable(error) || this.#connection === undefined
          if (this.#isClosed || !isWorthTrying || attempt === ATTEMPTS_MAX) throw error
        }
      }
    })
    this.#tail = result.catch(() => undefined)
    return result.catch((error: unknown) => {
      throw asStoreError(error)
    })
  }

  /** Ends what it is doing, if that goes on for longer than anything does on a database that answers. */
  async close(): Promise<void> {
    this.#isClosed = true
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), CLOSE_WAIT_MS)
    })
    const isIdle = await Promise.race([this.#tail.then(() => true), late])
    clearTimeout(timer)
    if (isIdle) this.#connection?.returnToPool()
    else this.#connection?.destroy()
    this.#connection = undefined
  }

  async #attempt<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#getConnection()
    try {
      return await work(connection)
    } catch (error) {
      await this.#tidy(connection)
      throw error
    }
  }

  async #getConnection(): Promise<Connection> {
    if (this.#hasClosed()) throw closedError()
    if (this.#connection !== undefined && !this.#connection.isLost) return this.#connection
    this.#connection?.destroy()
    this.#connection = undefined
    if (this.#failures > 0)
      await sleep(Math.min(PAUSE_MIN_MS * 2 ** this.#failures, PAUSE_MAX_MS), undefined, {
        ref: false,
      })
    this.#failures += 1
    const connection = await this.#connect()
    if (this.#hasClosed()) {
      connection.returnToPool()
      throw closedError()
    }
    this.#failures = 0
    connection.limitEachTo(this.#statementTimeoutMs)
    this.#connection = connection
    return connection
  }

  #hasClosed(): boolean {
    return this.#isClosed
  }

  async #tidy(connection: Connection): Promise<void> {
    try {
      if (!connection.isLost && connection.transactionStatus !== 'I')
        await connection.run('rollback')
    } catch {
      connection.destroy()
    }
    if (!connection.isLost) return
    connection.destroy()
    this.#connection = undefined
  }
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('The store is closed')
}
