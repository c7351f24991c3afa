/**
 * The transaction of steps: it holds the writer, what the handlers write, and the steps' results.
 *
 * A frozen or forgotten one is ended by a timer, as a group is. Its commit also moves the worker's heart: no
 * beat can be written while it has the writer, and others may sweep as soon as it has not.
 *
 * @module
 */

import type { CommitResult, LentTx } from '../contract/transaction.ts'
import type { OpenStep, StepResult, StepTransaction } from '../contract/steps.ts'
import type { HeldTransaction } from './held-transaction.ts'
import type { SqliteTx } from './tx.ts'
import { insertDone } from './sql/write-calls.ts'
import { dropTemporaryObjects } from './temporary-objects.ts'

// 1 event id
const MOVE_HEART = `
  update {prefix}workers
     set beat_at = cast(unixepoch('subsec') * 1000 as integer)
   where worker_id = (select lease_worker from {prefix}queue where event_id = ?)`

export class SqliteStepTransaction implements StepTransaction<SqliteTx> {
  readonly held: readonly boolean[]
  readonly #steps: readonly OpenStep[]
  readonly #transaction: HeldTransaction

  constructor(steps: readonly OpenStep[], held: readonly boolean[], transaction: HeldTransaction) {
    this.#steps = steps
    this.held = held
    this.#transaction = transaction
  }

  lend(): LentTx<SqliteTx> {
    return this.#transaction.lend()
  }

  status(): ReturnType<HeldTransaction['status']> {
    return this.#transaction.status()
  }

  cancel(): Promise<void> {
    return this.#transaction.cancel()
  }

  findTraces(): Promise<string | undefined> {
    return this.#transaction.findTraces()
  }

  commit(results: readonly (StepResult | undefined)[]): Promise<CommitResult> {
    return this.#transaction.commit((connection) => {
      dropTemporaryObjects(connection)
      this.#steps.forEach((step, at) => {
        const result = results[at]
        if (result === undefined) return
        insertDone(connection, step, result.text)
        connection.run(MOVE_HEART, [step.lease.eventId])
      })
    })
  }

  abandon(): Promise<void> {
    return this.#transaction.abandon()
  }
}
