/**
 * The one writer of this process, and the queue in front of it.
 *
 * SQLite lets one connection write at a time. Inside the process the turn goes round in order of
 * arrival; between processes SQLite's lock decides. Nobody waits inside SQLite: its `busy_timeout`
 * blocks the thread, and with it every request of the process, so it is 0 and a busy database is
 * asked again from a timer. SQLite keeps no queue of those who ask, so whoever writes without a pause
 * keeps everybody else out; `Courtesy` says when to leave the lock alone for a moment.
 *
 * @module
 */

import { CommitUnknownError, StoreUnavailableError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { Courtesy } from './courtesy.ts'
import { isBusy, toStoreError } from './sqlite-error.ts'

/**
 * The longest pause between two tries for the lock, before jitter. It is shorter than the pause that a
 * writer makes for others, so that one of the tries falls into it; a try costs some ten microseconds.
 */
const RETRY_MS_MAX = 2

export interface WriteOptions {
  /** How long to wait for the turn and for SQLite's lock, together. */
  readonly waitMs: number
  /**
   * Whether the commit must survive a loss of power. One that need not is not synced by itself; the
   * next durable one takes it along, since both are in the same log.
   */
  readonly durable: boolean
}

/** Gives the turn back. Calling it again does nothing. */
export type Release = () => void

interface Waiter {
  readonly grant: () => void
  readonly refuse: (error: Error) => void
}

export class Writer {
  readonly connection: Connection
  readonly #waiters = new Set<Waiter>()
  readonly #courtesy = new Courtesy()
  #held = false
  #closed = false
  #onIdle: () => void = () => {}

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** Runs `work` in a transaction of its own and commits it, or rolls all of it back. */
  async transact<Result>(
    { waitMs, durable }: WriteOptions,
    work: (connection: Connection) => Result,
  ): Promise<Result> {
    const deadline = performance.now() + waitMs
    const release = await this.acquire(deadline)
    try {
      return await this.transactHeld({ deadline, durable }, work)
    } finally {
      release()
    }
  }

  /** The same, for whoever has the turn already. */
  async transactHeld<Result>(
    { deadline, durable }: { deadline: number; durable: boolean },
    work: (connection: Connection) => Result,
  ): Promise<Result> {
    // The level can only be changed outside a transaction.
    if (!durable) this.connection.execute('pragma synchronous = normal')
    try {
      await this.begin(deadline)
      const result = this.#rollBackOnError(() => work(this.connection))
      this.commit()
      return result
    } finally {
      if (!durable) this.connection.execute('pragma synchronous = full')
    }
  }

  /** Waits for the turn. `deadline` is on the clock of `performance.now()`. */
  acquire(deadline: number): Promise<Release> {
    if (this.#closed) return Promise.reject(closedError())
    if (!this.#held) {
      this.#held = true
      this.#courtesy.taken()
      return Promise.resolve(this.#createRelease())
    }
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
      }
      const waiter: Waiter = {
        grant: () => {
          settle()
          resolve(this.#createRelease())
        },
        refuse: (error) => {
          settle()
          reject(error)
        },
      }
      const timer = setTimeout(
        () => waiter.refuse(busyError()),
        Math.max(0, deadline - performance.now()),
      )
      this.#waiters.add(waiter)
    })
  }

  /** Takes SQLite's write lock, asking again while another process has it. */
  async begin(deadline: number): Promise<void> {
    for (let delayMs = 1; ; delayMs = Math.min(delayMs * 1.5, RETRY_MS_MAX)) {
      try {
        this.connection.execute('begin immediate')
        this.#courtesy.saw(this.#readDataVersion())
        return
      } catch (error) {
        if (!isBusy(error)) throw toStoreError(error)
        this.#courtesy.met()
        if (performance.now() >= deadline) throw busyError(error)
      }
      // The jitter keeps processes that wait for the same lock from asking in step for ever.
      const waitMs = delayMs * (0.5 + Math.random())
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      if (this.#closed) throw closedError()
    }
  }

  isClosed(): boolean {
    return this.#closed
  }

  commit(): void {
    try {
      this.connection.execute('commit')
    } catch (error) {
      // Refused, and still open: nothing of it was kept. A failure that also ended the transaction
      // may have come after its pages reached the disk.
      if (!this.connection.inTransaction()) throw new CommitUnknownError({ cause: error })
      this.rollback()
      throw toStoreError(error)
    }
  }

  /** Never throws: SQLite may have rolled back by itself. */
  rollback(): void {
    try {
      if (this.connection.inTransaction()) this.connection.execute('rollback')
    } catch {
      // Whatever is left of it ends with the connection.
    }
  }

  /** Refuses whoever waits and whoever comes, and waits for whoever has the turn to give it back. */
  async close(): Promise<void> {
    this.#closed = true
    for (const waiter of this.#waiters) waiter.refuse(closedError())
    if (this.#held) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  #rollBackOnError<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      this.rollback()
      throw toStoreError(error)
    }
  }

  #createRelease(): Release {
    let released = false
    return () => {
      if (released) return
      released = true
      const pauseMs = this.#courtesy.pauseMs()
      if (pauseMs === 0) return this.#passOn()
      setTimeout(() => {
        this.#courtesy.paused()
        this.#passOn()
      }, pauseMs)
    }
  }

  #passOn(): void {
    const [next] = this.#waiters
    if (next !== undefined) return next.grant()
    this.#held = false
    this.#courtesy.free()
    this.#onIdle()
  }

  /** Changes with every commit of a connection other than this one. */
  #readDataVersion(): number {
    return (
      this.connection.all<{ data_version: number }>('pragma data_version')[0]?.data_version ?? 0
    )
  }
}

function busyError(cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError('The database was busy with other writes for too long', {
    cause,
  })
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('The store is closed')
}
