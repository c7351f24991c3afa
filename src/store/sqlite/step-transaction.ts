/**
 * The transaction of steps: it holds the writer, what the handlers write, and the steps' results.
 *
 * A frozen or forgotten one is ended by a timer, as a group is. Its commit also moves the worker's heart: no
 * beat can be written while it has the writer, and others may sweep as soon as it has not.
 *
 * @module
 */

import type { CommitResult, LentTx } from '../contract/store.ts'
import type { OpenStep, StepLimits, StepResult, StepTransaction } from '../contract/steps.ts'
import { HeldTransaction, notCommitted } from './held-transaction.ts'
import { lendTx } from './lent-tx.ts'
import type { Lender, SqliteTx } from './lent-tx.ts'
import { insertDone } from './sql/write-calls.ts'
import { dropTemporaryObjects, findTemporaryObjects } from './temporary-objects.ts'
import type { Turn } from './turn.ts'

// 1 event id
const MOVE_HEART = `
  update {prefix}workers
     set beat_at = cast(unixepoch('subsec') * 1000 as integer)
   where worker_id = (select lease_worker from {prefix}queue where event_id = ?)`

export interface OpenStepTransaction {
  readonly turn: Turn
  readonly steps: readonly OpenStep[]
  readonly held: readonly boolean[]
  readonly limits: StepLimits
  /** Called once, when the transaction has ended. */
  readonly onEnd: () => void
}

export class SqliteStepTransaction implements StepTransaction<SqliteTx>, Lender {
  readonly held: readonly boolean[]
  readonly #steps: readonly OpenStep[]
  readonly #transaction: HeldTransaction
  readonly #onEnd: () => void
  #hasEnded = false

  constructor({ turn, steps, held, limits, onEnd }: OpenStepTransaction) {
    this.#steps = steps
    this.held = held
    this.#onEnd = onEnd
    const { idleTimeoutMs } = limits
    this.#transaction = new HeldTransaction(turn, {
      idleTimeoutMs,
      onIdle: () => void this.abandon(),
    })
  }

  lend(): LentTx<SqliteTx> {
    return lendTx(this, { isAlone: this.#steps.length === 1 })
  }

  status(): 'open' | 'ended' | 'lost' {
    return this.#transaction.status()
  }

  /** A statement has ended before anything else in this process can run. */
  async cancel(): Promise<void> {}

  openNow(): boolean {
    return true
  }

  async open(): Promise<void> {}

  query(sql: string, params: readonly unknown[]): ReturnType<Lender['query']> {
    return this.#transaction.use((connection) => connection.query(sql, params))
  }

  execute(sql: string): void {
    this.#transaction.use((connection) => connection.executeLent(sql))
  }

  async findTraces(): Promise<string | undefined> {
    return this.#transaction.use(findTemporaryObjects)
  }

  async commit(results: readonly (StepResult | undefined)[]): Promise<CommitResult> {
    try {
      this.#end(
        this.#transaction.commit((connection) => {
          dropTemporaryObjects(connection)
          this.#steps.forEach((step, at) => {
            const result = results[at]
            if (result === undefined) return
            insertDone(connection, step, result.text)
            connection.run(MOVE_HEART, [step.lease.eventId])
          })
        }),
      )
      return { status: 'committed' }
    } catch (error) {
      await this.abandon()
      return notCommitted(error)
    }
  }

  async abandon(): Promise<void> {
    if (!this.#hasEnded) this.#end(this.#transaction.rollback())
  }

  #end(turn: Turn): void {
    this.#hasEnded = true
    this.#onEnd()
    turn.release()
  }
}
