/**
 * The transaction of steps: it holds their leases, what the handlers write, and the steps' results.
 *
 * Two round trips beside the handlers' own statements, however many steps share it.
 *
 * @module
 */

import type { CommitResult, LentTx } from '../contract/transaction.ts'
import type { OpenStep, StepResult, StepTransaction } from '../contract/steps.ts'
import type { PostgresTx } from './tx.ts'
import type { HeldTransaction } from './held-transaction.ts'
import { finishSteps } from './sql/open-steps.ts'

export class PostgresStepTransaction implements StepTransaction<PostgresTx> {
  readonly held: readonly boolean[]
  readonly #steps: readonly OpenStep[]
  readonly #transaction: HeldTransaction

  constructor(steps: readonly OpenStep[], held: readonly boolean[], transaction: HeldTransaction) {
    this.#steps = steps
    this.held = held
    this.#transaction = transaction
  }

  lend(): LentTx<PostgresTx> {
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
    const held = this.#steps.flatMap((step, at) =>
      this.held[at] === true ? [{ step, result: results[at] }] : [],
    )
    return this.#transaction.commit([finishSteps(held)])
  }

  abandon(): Promise<void> {
    return this.#transaction.abandon()
  }
}
