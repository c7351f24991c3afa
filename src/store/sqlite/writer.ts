/**
 * The one writer of this process, and the queue in front of it.
 *
 * SQLite lets one connection write at a time. Inside the process the turn goes round in order of
 * arrival; between processes SQLite's lock decides. No caller waits inside SQLite: its `busy_timeout`
 * blocks the thread, and with it every request of the process, so it is 0 and a busy database is
 * asked again from a timer. SQLite keeps no queue of those who ask, so a process that writes without
 * a pause keeps the others out; `WritePauses` says when to leave the lock alone for a moment.
 *
 * Only SQLite: PostgreSQL lets many write at once.
 *
 * @module
 */

import { LoopBreaks } from '../../flow/loop-breaks.ts'
import type { Connection } from './connection.ts'
import { WritePauses } from './write-pauses.ts'
import { busyError, closedError, Turn } from './turn.ts'
import type { Work } from './turn.ts'

export interface WriteOptions {
  /** How long to wait for the turn and for SQLite's lock, together. */
  readonly waitMs: number
  /**
   * Whether the commit must survive a loss of power. One that need not is not synced by itself; the
   * next durable one takes it along, since both are in the same log.
   */
  readonly durable: boolean
}

interface Waiter {
  readonly grant: () => void
  readonly refuse: (error: Error) => void
}

export class Writer {
  /** To be taken by those who write for long. */
  readonly breaks = new LoopBreaks()
  /** Reached through a turn, and by nothing else. */
  readonly #connection: Connection
  readonly #checkFiles: () => void
  readonly #waiters = new Set<Waiter>()
  readonly #pauses = new WritePauses()
  #held = false
  #closed = false
  #onIdle: () => void = () => {}

  /** `checkFiles` is called after every commit that must last, and throws if it is lost. */
  constructor(connection: Connection, checkFiles: () => void) {
    this.#connection = connection
    this.#checkFiles = checkFiles
  }

  /** Runs `work` in a transaction of its own and commits it, or rolls all of it back. */
  async transact<Result>({ waitMs, durable }: WriteOptions, work: Work<Result>): Promise<Result> {
    const deadline = performance.now() + waitMs
    const turn = await this.acquire(deadline)
    try {
      return await turn.transact({ deadline, durable }, work)
    } finally {
      turn.giveBack()
    }
  }

  /** Waits for the turn. `deadline` is on the clock of `performance.now()`; `Infinity` for none. */
  async acquire(deadline: number): Promise<Turn> {
    const turn = await this.#awaitTurn(deadline)
    await this.breaks.take()
    return turn
  }

  #awaitTurn(deadline: number): Promise<Turn> {
    if (this.#closed) return Promise.reject(closedError())
    if (!this.#held) return Promise.resolve(this.#take())
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const settle = () => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
      }
      const waiter: Waiter = {
        grant: () => {
          settle()
          resolve(this.#createTurn())
        },
        refuse: (error) => {
          settle()
          reject(error)
        },
      }
      if (deadline !== Infinity) {
        const waitMs = Math.max(0, deadline - performance.now())
        timer = setTimeout(() => waiter.refuse(busyError()), waitMs)
      }
      this.#waiters.add(waiter)
    })
  }

  /** The turn, if nothing is in the way of it. */
  tryAcquire(): Turn | undefined {
    return this.#closed || this.#held ? undefined : this.#take()
  }

  isClosed(): boolean {
    return this.#closed
  }

  /** Refuses those who wait and those who come. */
  refuseAll(): void {
    this.#closed = true
    for (const waiter of this.#waiters) waiter.refuse(closedError())
  }

  /** Waits for the turn to be given back, has `last` use it once more, and closes the connection. */
  async close(last: (turn: Turn) => Promise<void>): Promise<void> {
    this.refuseAll()
    if (this.#held) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    const turn = this.#take()
    try {
      await last(turn)
    } finally {
      turn.giveBack()
      this.#connection.close()
    }
  }

  #take(): Turn {
    this.#held = true
    this.#pauses.taken()
    return this.#createTurn()
  }

  #createTurn(): Turn {
    return new Turn({
      connection: this.#connection,
      pauses: this.#pauses,
      breaks: this.breaks,
      isClosed: () => this.#closed,
      checkFiles: this.#checkFiles,
      onEnd: () => this.#pause(),
    })
  }

  /** Before the turn is passed on, for those who wait for SQLite's lock in other processes. */
  #pause(): void {
    const pauseMs = this.#pauses.pauseMs()
    if (pauseMs === 0) return this.#passOn()
    setTimeout(() => {
      this.#pauses.paused()
      this.#passOn()
    }, pauseMs)
  }

  #passOn(): void {
    const [next] = this.#waiters
    if (next !== undefined) return next.grant()
    this.#held = false
    this.#pauses.free()
    this.#onIdle()
  }
}
