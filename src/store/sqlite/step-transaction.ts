/**
 * The transaction of steps: it holds the writer, what the handlers write, and the steps' results.
 *
 * A frozen or forgotten one is ended by a timer, as a group is. Its commit also moves the worker's heart: no
 * beat can be written while it has the writer, and others may sweep as soon as it has not.
 *
 * @module
 */

import { asError, CommitUnknownError, HookonceError } from '../../errors.ts'
import type { CommitResult, LentTx } from '../contract.ts'
import type { OpenStep, StepLimits, StepResult, StepTransaction } from '../steps-contract.ts'
import type { Connection } from './connection.ts'
import { lendTx } from './lent-tx.ts'
import type { Lender, SqliteTx } from './lent-tx.ts'
import { insertDone } from './sql/write-calls.ts'
import { dropTemporaryObjects, findTemporaryObjects } from './temporary-objects.ts'
import type { Release, Writer } from './writer.ts'

/** How much longer than asked for it may sit idle: nobody but this process waits for it. */
const IDLE_FACTOR = 2

// 1 event id
const MOVE_HEART = `
  update {prefix}workers
     set heart_at = cast(unixepoch('subsec') * 1000 as integer)
   where worker_id = (select lease_worker from {prefix}queue where event_id = ?)`

export interface OpenStepTransaction {
  readonly writer: Writer
  readonly steps: readonly OpenStep[]
  readonly held: readonly boolean[]
  readonly limits: StepLimits
  /** Called once, when the transaction has ended. */
  readonly release: Release
}

export class SqliteStepTransaction implements StepTransaction<SqliteTx>, Lender {
  readonly #writer: Writer
  readonly #steps: readonly OpenStep[]
  readonly held: readonly boolean[]
  readonly #release: Release
  readonly #idleTimer: NodeJS.Timeout
  #ended = false
  /** Ended by SQLite or by the clock, neither of which is the handler's doing. */
  #lost = false

  constructor({ writer, steps, held, limits, release }: OpenStepTransaction) {
    this.#writer = writer
    this.#steps = steps
    this.held = held
    this.#release = release
    this.#idleTimer = setTimeout(() => {
      this.#lost = true
      void this.abandon()
    }, limits.idleTimeoutMs * IDLE_FACTOR).unref()
  }

  lend(): LentTx<SqliteTx> {
    return lendTx(this, { isAlone: this.#steps.length === 1 })
  }

  status(): 'open' | 'ended' | 'lost' {
    if (this.#lost) return 'lost'
    return this.#ended || !this.#writer.connection.inTransaction() ? 'ended' : 'open'
  }

  /** A statement has ended before anything else in this process can run. */
  async cancel(): Promise<void> {}

  assertOpen(): void {
    if (this.status() !== 'open')
      throw new HookonceError('TRANSACTION_ENDED', 'The transaction of this step has ended')
    this.#idleTimer.refresh()
  }

  query(sql: string, params: readonly unknown[]): ReturnType<Lender['query']> {
    return this.#attempt((connection) => connection.query(sql, params))
  }

  execute(sql: string): void {
    this.#attempt((connection) => connection.executeLent(sql))
  }

  async findTraces(): Promise<string | undefined> {
    return this.#attempt(findTemporaryObjects)
  }

  async commit(results: readonly (StepResult | undefined)[]): Promise<CommitResult> {
    try {
      this.assertOpen()
      this.#steps.forEach((step, at) => {
        const result = results[at]
        if (result === undefined) return
        insertDone(this.#writer.connection, step, result.text)
        this.#writer.connection.run(MOVE_HEART, [step.lease.eventId])
      })
      this.#writer.commit()
      dropTemporaryObjects(this.#writer.connection)
      this.#end()
      return { status: 'committed' }
    } catch (error) {
      await this.abandon()
      const status = error instanceof CommitUnknownError ? 'unknown' : 'refused'
      return { status, error: asError(error) }
    }
  }

  async abandon(): Promise<void> {
    if (this.#ended) return
    this.#writer.rollback()
    this.#end()
  }

  /** What throws and leaves no transaction behind has met a full disk or worse. */
  #attempt<Result>(work: (connection: Connection) => Result): Result {
    const { connection } = this.#writer
    try {
      return work(connection)
    } catch (error) {
      if (!connection.inTransaction()) this.#lost = true
      throw error
    }
  }

  #end(): void {
    this.#ended = true
    clearTimeout(this.#idleTimer)
    this.#release()
  }
}
