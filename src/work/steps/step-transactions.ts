/**
 * Which steps that write share a transaction.
 *
 *     steps of several events that wait ─▶ one transaction ─▶ their work, one after the other ─▶ commit
 *                                                  │ one failed
 *                                                  ▼
 *                                    roll back ─▶ each in a transaction of its own
 *
 * Sharing a transaction is what makes it fast: its begin, its proof of the leases and its commit cost the same
 * for twenty steps as for one. As with groups, one bad step costs the others a rerun and nothing else, and a
 * handler whose steps are slow, or that changes settings, has its transactions for itself.
 *
 * @module
 */

import { TracesLeftError } from '../../errors.ts'
import type { Permits } from '../../flow/permits.ts'
import type { WaitingStep } from './step-scope.ts'
import { settle, TOGETHER_BUDGET_MS, tryStep, tryTogether } from './step-tx.ts'
import type { SteppingStore, Waiter } from './step-tx.ts'

/** The most steps in one transaction. */
const TOGETHER_MAX = 40
/** Deadlocks and serialization failures are no event's fault: tried again in place, without a lost attempt. */
const IN_PLACE_MAX = 5
/**
 * A handler whose steps take longer on average has its transactions for itself. No less than what a shared one
 * may take: a busy machine makes every step slow, and without sharing it would only get busier.
 */
const SLOW_MS = TOGETHER_BUDGET_MS
/** How many shared transactions are open at once: with more of them, each is smaller. */
const SHARED_MAX = 2

/** Runs the steps that write, as many together as wait. */
export class StepTransactions<Tx> {
  readonly #store: SteppingStore<Tx>
  readonly #permits: Permits
  readonly #averageMs = new Map<string, number>()
  #waiting: Waiter<Tx>[] = []
  #shared = 0

  constructor(store: SteppingStore<Tx>, permits: Permits) {
    this.#store = store
    this.#permits = permits
  }

  run(waiting: WaitingStep<Tx>): Promise<unknown> {
    if (this.#isSlow(waiting)) return this.#runAlone(waiting)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...waiting, resolve, reject })
      this.#share()
    })
  }

  #share(): void {
    if (this.#shared >= SHARED_MAX || this.#waiting.length === 0) return
    this.#shared += 1
    void this.#permits
      .use(async () => {
        const steps = this.#waiting.splice(0, TOGETHER_MAX)
        const [only] = steps
        if (steps.length > 1) await this.#runTogether(steps)
        else if (only !== undefined) await settle(only, this.#runInPlace(only))
      })
      .finally(() => {
        this.#shared -= 1
        this.#share()
      })
  }

  /** Never throws: every step gets its end. */
  async #runTogether(steps: readonly Waiter<Tx>[]): Promise<void> {
    let looks = false
    const rest = await tryTogether(this.#store, steps, this.#measure).catch((error: unknown) => {
      looks = error instanceof TracesLeftError
      return steps
    })
    // Outside the shared place, but each with a permit of its own.
    for (const step of rest) void settle(step, this.#runAlone(step, looks))
  }

  #runAlone(waiting: WaitingStep<Tx>, looks = false): Promise<unknown> {
    return this.#permits.use(() => this.#runInPlace(waiting, looks))
  }

  async #runInPlace(waiting: WaitingStep<Tx>, looks = false): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await tryStep(this.#store, waiting, { measure: this.#measure, looks })
      } catch (error) {
        const isContended = this.#store.findTrouble(error) === 'contended'
        if (!isContended || tries >= IN_PLACE_MAX) throw error
      }
    }
  }

  #isSlow({ scope }: WaitingStep<Tx>): boolean {
    return (this.#averageMs.get(scope.handler.name) ?? 0) > SLOW_MS
  }

  readonly #measure = (handler: string, durationMs: number): void => {
    const average = this.#averageMs.get(handler) ?? 0
    if (average === Infinity) return
    this.#averageMs.set(handler, average + (durationMs - average) * 0.1)
  }
}
