/**
 * A write transaction of ours that is lent to handlers: by a group of claimed events, or by steps.
 *
 * SQLite has no server that could end a forgotten transaction, so a timer does it, which every statement
 * winds again.
 *
 * @module
 */

import { asError, CommitUnknownError, HookonceError, StoreFileChangedError } from '../../errors.ts'
import type { CommitResult } from '../contract/store.ts'
import type { Connection } from './connection.ts'
import type { Turn } from './turn.ts'

/** How much longer than asked for it may sit idle: only this process waits for it. */
const IDLE_FACTOR = 2

export interface IdleLimit {
  readonly idleTimeoutMs: number
  /** To roll back, and to give the turn back. */
  readonly onIdle: () => void
}

export class HeldTransaction {
  readonly #turn: Turn
  readonly #idleTimer: NodeJS.Timeout
  #hasEnded = false
  /** Ended by SQLite or by the clock, neither of which is the handler's doing. */
  #isLost = false

  /** The turn has begun a transaction. */
  constructor(turn: Turn, { idleTimeoutMs, onIdle }: IdleLimit) {
    this.#turn = turn
    this.#idleTimer = setTimeout(() => {
      this.#isLost = true
      onIdle()
    }, idleTimeoutMs * IDLE_FACTOR).unref()
  }

  status(): 'open' | 'ended' | 'lost' {
    if (this.#isLost) return 'lost'
    return this.#hasEnded || !this.#turn.connection.inTransaction() ? 'ended' : 'open'
  }

  /**
   * Runs statements in the transaction, and throws if it is no longer open.
   *
   * A full disk, an error of the disk or a lack of memory make SQLite roll everything back by itself.
   * A statement that throws and leaves no transaction behind has met one of them.
   */
  use<Result>(work: (connection: Connection) => Result): Result {
    if (this.status() !== 'open')
      throw new HookonceError('TRANSACTION_ENDED', 'The transaction has ended')
    this.#idleTimer.refresh()
    const { connection } = this.#turn
    try {
      return work(connection)
    } catch (error) {
      if (!connection.inTransaction()) this.#isLost = true
      throw error
    }
  }

  /** `last` is still to be written. The turn is left to be given back. */
  commit(last: (connection: Connection) => void): Turn {
    this.use(last)
    this.#turn.commit()
    this.#end()
    return this.#turn
  }

  /** Never throws. The turn is left to be given back. */
  rollback(): Turn {
    this.#end()
    this.#turn.rollback()
    return this.#turn
  }

  #end(): void {
    this.#hasEnded = true
    clearTimeout(this.#idleTimer)
  }
}

/** What an error at the commit says of it. One that went into a file that is lost may be there, or not. */
export function notCommitted(thrown: unknown): Exclude<CommitResult, { status: 'committed' }> {
  const error = asError(thrown)
  const isUnknown = error instanceof CommitUnknownError || error instanceof StoreFileChangedError
  return { status: isUnknown ? 'unknown' : 'refused', error }
}
