/**
 * A write transaction of ours that is lent to handlers: for a group of claimed events, or for steps.
 *
 * It may open late: when a handler uses `tx`, or to settle. Savepoints that are set before are made then. Once it has
 * ended it cannot be opened.
 *
 * SQLite has no server that could end a forgotten transaction, so a timer does it, which every statement winds again.
 *
 * @module
 */

import { asError, CommitUnknownError, HookonceError, StoreFileChangedError } from '../../errors.ts'
import type { CommitResult, HandlerClock, LentTx } from '../contract/transaction.ts'
import { quoteName } from '../shared/quote-name.ts'
import type { Connection } from './connection.ts'
import { LentSqliteTx } from './lent-tx.ts'
import type { Lender } from './lent-tx.ts'
import type { SqliteTx } from './tx.ts'
import { findTemporaryObjects } from './temporary-objects.ts'
import type { Turn } from './turn.ts'
import type { Writer } from './writer.ts'

/** How much longer than asked for it may sit idle: only this process waits for it. */
const IDLE_FACTOR = 2

export interface HeldTransactionParts {
  readonly writer: Writer
  /** Whether one event has it for itself. */
  readonly isAlone: boolean
  readonly idleTimeoutMs: number
  /** How long it is likely to hold the writer; 0 if that is not long, or not known. */
  readonly slowMs?: () => number
  /** Called in a transaction that has opened late; throws if it may not go on. */
  readonly check?: (connection: Connection) => void
  /** Called once, when the transaction is open. */
  readonly onOpen?: () => void
  /** Called once, after a rollback, with the turn that it still has. */
  readonly onRollback?: (turn: Turn | undefined) => Promise<void>
  /** Called once, when the transaction has ended. */
  readonly onEnd: () => void
}

export class HeldTransaction implements Lender {
  readonly #parts: HeldTransactionParts
  #turn: Turn | undefined
  #opening: Promise<void> | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #savepoints: string[] = []
  #hasEnded = false
  /** It could not be opened, or SQLite or the clock ended it: neither is the handler's doing. */
  #lostBy: { readonly error: unknown } | undefined

  /** With a turn that has begun it is open from the start. */
  constructor(parts: HeldTransactionParts, turn?: Turn) {
    this.#parts = parts
    if (turn !== undefined) this.#hold(turn)
  }

  lend(clock?: HandlerClock): LentTx<SqliteTx> {
    return new LentSqliteTx(this, { isAlone: this.#parts.isAlone, clock })
  }

  /** A failed statement undoes itself in SQLite and leaves the transaction usable, so `failed` never comes. */
  status(): 'open' | 'ended' | 'lost' {
    if (this.#lostBy !== undefined) return 'lost'
    if (this.#hasEnded) return 'ended'
    return this.#turn?.connection.inTransaction() === false ? 'ended' : 'open'
  }

  /** A statement has ended before anything else in this process can run. */
  async cancel(): Promise<void> {}

  async findTraces(): Promise<string | undefined> {
    return this.#turn === undefined ? undefined : this.use(findTemporaryObjects)
  }

  /** What waits for the transaction to open is flushed by the end of its handler. */
  hasWrites(): boolean {
    return false
  }

  async flush(): Promise<void> {}

  async setSavepoint(name: string): Promise<void> {
    if (this.#turn === undefined) this.#savepoints.push(name)
    else this.use((connection) => connection.execute(`savepoint ${savepointName(name)}`))
  }

  async rollbackTo(name: string): Promise<void> {
    if (this.#turn === undefined) this.#savepoints = [...this.#savepointsBefore(name), name]
    else this.use((connection) => connection.execute(`rollback to ${savepointName(name)}`))
  }

  async dropSavepoint(name: string): Promise<void> {
    if (this.#turn === undefined) this.#savepoints = this.#savepointsBefore(name)
    else this.use((connection) => connection.execute(`release ${savepointName(name)}`))
  }

  /** Opens it if nothing is in the way, and says whether it is open. Throws if it cannot be opened any more. */
  openNow(): boolean {
    this.#requireOpenable()
    if (this.#turn !== undefined) return true
    if (this.#opening !== undefined) return false
    const turn = this.#parts.writer.tryAcquire(this.#parts.slowMs)
    if (turn === undefined) return false
    return this.#holdIf(turn, () => turn.tryBegin())
  }

  /** Waits for the writer as long as it takes: those in front of it have time limits of their own. */
  async open(): Promise<void> {
    if (this.openNow()) return
    this.#opening ??= this.#openInTurn()
    await this.#opening
  }

  query(...statement: Parameters<Lender['query']>): ReturnType<Lender['query']> {
    return this.use((connection) => connection.query(...statement))
  }

  execute(sql: string): void {
    this.use((connection) => connection.executeLent(sql))
  }

  /**
   * Runs statements in the transaction, and throws if it is not open, or no longer.
   *
   * A full disk, an error of the disk or a lack of memory make SQLite roll everything back by itself.
   * A statement that throws and leaves no transaction behind has met one of them.
   */
  use<Result>(work: (connection: Connection) => Result): Result {
    this.#requireOpenable()
    if (this.#turn === undefined) throw new Error('The transaction is not open yet')
    if (this.status() !== 'open') throw ended()
    this.#idleTimer?.refresh()
    const { connection } = this.#turn
    try {
      return work(connection)
    } catch (error) {
      if (!connection.inTransaction()) this.#lostBy = { error: ended() }
      throw error
    }
  }

  /** `last` is still to be written. */
  async commit(last: (connection: Connection) => void): Promise<CommitResult> {
    try {
      this.use(last)
      this.#turn?.commit()
      this.#end()
      return { status: 'committed' }
    } catch (error) {
      await this.abandon()
      return notCommitted(error)
    }
  }

  /** Ends it, opened or not; never throws. */
  async abandon(): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    clearTimeout(this.#idleTimer)
    this.#turn?.rollback()
    try {
      await this.#parts.onRollback?.(this.#turn)
    } finally {
      this.#end()
    }
  }

  #end(): void {
    this.#hasEnded = true
    clearTimeout(this.#idleTimer)
    this.#parts.onEnd()
    this.#turn?.giveBack()
  }

  async #openInTurn(): Promise<void> {
    try {
      const turn = await this.#parts.writer.acquire(Infinity, this.#parts.slowMs)
      await turn.begin(Infinity).catch((error: unknown) => {
        turn.giveBack()
        throw error
      })
      this.#holdIf(turn, () => true)
    } catch (error) {
      this.#fail(ended())
      throw error
    }
  }

  #holdIf(turn: Turn, begin: () => boolean): boolean {
    try {
      if (!begin()) {
        turn.giveBack()
        return false
      }
      this.#requireOpenable()
    } catch (error) {
      turn.giveBack()
      this.#fail(ended())
      throw error
    }
    try {
      this.#parts.check?.(turn.connection)
      this.#hold(turn)
      return true
    } catch (error) {
      turn.giveBack()
      this.#fail(error)
      throw error
    }
  }

  /** What could not be opened is not tried again: its handler has been told. */
  #fail(error: unknown): void {
    if (!this.#hasEnded) this.#lostBy ??= { error }
  }

  #hold(turn: Turn): void {
    for (const name of this.#savepoints) turn.connection.execute(`savepoint ${savepointName(name)}`)
    this.#turn = turn
    this.#idleTimer = setTimeout(() => {
      this.#lostBy ??= { error: ended() }
      void this.abandon()
    }, this.#parts.idleTimeoutMs * IDLE_FACTOR).unref()
    this.#parts.onOpen?.()
  }

  #requireOpenable(): void {
    if (this.#lostBy !== undefined) throw this.#lostBy.error
    if (this.#hasEnded) throw ended()
  }

  #savepointsBefore(name: string): string[] {
    this.#requireOpenable()
    const place = this.#savepoints.lastIndexOf(name)
    if (place === -1) throw new Error(`There is no savepoint ${name}`)
    return this.#savepoints.slice(0, place)
  }
}

function savepointName(name: string): string {
  return quoteName(`hookonce_${name}`)
}

function ended(): HookonceError {
  return new HookonceError('TRANSACTION_ENDED', 'The transaction has ended')
}

/** What an error at the commit says of it. One that went into a file that is lost may be there, or not. */
export function notCommitted(thrown: unknown): Exclude<CommitResult, { status: 'committed' }> {
  const error = asError(thrown)
  const isUnknown = error instanceof CommitUnknownError || error instanceof StoreFileChangedError
  return { status: isUnknown ? 'unknown' : 'refused', error }
}
