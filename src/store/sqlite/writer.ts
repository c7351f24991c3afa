/**
 * The one writer of this process, and the queue in front of it.
 *
 * SQLite lets one connection write at a time. Inside the process the turn goes round in order of arrival, the slow
 * after the quick (`waiting-line.ts`); between processes SQLite's lock decides. No caller waits inside SQLite: its `busy_timeout`
 * blocks the thread, and with it every request of the process, so it is 0 and a busy database is
 * asked again from a timer. SQLite keeps no queue of the processes that ask, so a process that writes without
 * a pause keeps the others out; `WritePauses` says when to leave the lock alone for a moment.
 *
 * Only SQLite: PostgreSQL lets many write at once.
 *
 * @module
 */

import { LoopBreaks } from '../../flow/loop-breaks.ts'
import type { Connection } from './connection.ts'
import { WritePauses } from './write-pauses.ts'
import { closedError, Turn, WriterBusyError } from './turn.ts'
import type { Work } from './turn.ts'
import { WaitingLine } from './waiting-line.ts'
import type { Waiter } from './waiting-line.ts'

export interface WriteOptions {
  /** How long to wait for the turn and for SQLite's lock, together. */
  readonly waitMs: number
  /**
   * Whether the commit must survive a loss of power. One that need not is not synced by itself; the
   * next durable one takes it along, since both are in the same log.
   */
  readonly durable: boolean
}

/** How long a turn is likely to last: 0 if it is not known to be slow. Asked again while it waits, and when it ends. */
type SlowMs = () => number

/** All that the store does by itself. */
const NOT_SLOW: SlowMs = () => 0

export class Writer {
  /** To be taken by callers that write for long. */
  readonly breaks = new LoopBreaks()
  /** Reached through a turn, and by nothing else. */
  readonly #connection: Connection
  readonly #checkFiles: () => void
  readonly #line = new WaitingLine()
  readonly #pauses = new WritePauses()
  #held = false
  /** Runs while a slow caller waits for quick ones, which go before it. */
  #grace: NodeJS.Timeout | undefined
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
  async acquire(deadline: number, slowMs: SlowMs = NOT_SLOW): Promise<Turn> {
    const turn = this.tryAcquire(slowMs) ?? (await this.#awaitTurn(deadline, slowMs))
    await this.breaks.take()
    return turn
  }

  #awaitTurn(deadline: number, slowMs: SlowMs): Promise<Turn> {
    if (this.#closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const settle = () => {
        clearTimeout(timer)
        this.#line.remove(waiter)
      }
      const waiter: Waiter = {
        slowMs,
        grant: () => {
          settle()
          resolve(this.#take(slowMs))
        },
        refuse: (error) => {
          settle()
          reject(error)
        },
      }
      if (deadline !== Infinity) {
        const waitMs = Math.max(0, deadline - performance.now())
        timer = setTimeout(() => waiter.refuse(new WriterBusyError()), waitMs)
      }
      this.#line.add(waiter)
      if (!this.#held) this.#passOn()
    })
  }

  /** The turn, if nothing is in the way of it. */
  tryAcquire(slowMs: SlowMs = NOT_SLOW): Turn | undefined {
    if (this.#closed || this.#held || !this.#line.mayPass(slowMs())) return undefined
    return this.#take(slowMs)
  }

  isClosed(): boolean {
    return this.#closed
  }

  /** Refuses all callers, those that wait and those that come. */
  refuseAll(): void {
    this.#closed = true
    this.#line.refuseAll(closedError)
    clearTimeout(this.#grace)
  }

  /** Waits for the turn to be given back, has `last` use it once more, and closes the connection. */
  async close(last: (turn: Turn) => Promise<void>): Promise<void> {
    this.refuseAll()
    if (this.#held) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    const turn = this.#take(NOT_SLOW)
    try {
      await last(turn)
    } finally {
      turn.giveBack()
      this.#connection.close()
    }
  }

  #take(slowMs: SlowMs): Turn {
    clearTimeout(this.#grace)
    if (!this.#held) this.#pauses.taken()
    this.#held = true
    return new Turn({
      connection: this.#connection,
      pauses: this.#pauses,
      breaks: this.breaks,
      isClosed: () => this.#closed,
      checkFiles: this.#checkFiles,
      onEnd: () => {
        this.#line.ended(slowMs())
        this.#pause()
      },
    })
  }

  /** Before the turn is passed on, for writers in other processes, which wait for SQLite's lock. */
  #pause(): void {
    const pauseMs = this.#pauses.pauseMs()
    if (pauseMs === 0) return this.#passOn()
    setTimeout(() => {
      this.#pauses.paused()
      this.#passOn()
    }, pauseMs)
  }

  #passOn(): void {
    const next = this.#line.next()
    if (next?.inMs === 0) return next.waiter.grant()
    if (this.#held) {
      this.#held = false
      this.#pauses.free()
      this.#onIdle()
    }
    if (next === undefined) return
    clearTimeout(this.#grace)
    // What has come by then is heard first, also where the process was kept from running for as long.
    this.#grace = setTimeout(() => setImmediate(() => this.#held || this.#passOn()), next.inMs)
  }
}
