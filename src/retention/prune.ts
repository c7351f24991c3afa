/**
 * One run of the pruner: look how much would go, stop if that is far more than usual, then remove it step by step.
 *
 * Every step is a short transaction of the store, and after each there is a pause three times as long as the step kept
 * others waiting: deliveries and handlers have the database for three quarters of the time. What the step itself waited
 * for the writer does not count, or a busy database would be pruned ever more slowly.
 *
 * A run that is killed is taken up by the next one, which finds what is left by looking and needs no notes. Several at
 * once are harmless: a step that meets another pruner ends the run.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises'
import type {
  PruneCounts,
  PruneStep,
  PruneSurvey,
  RetentionStore,
} from '../store/contract/retention.ts'
import { PRUNE_PARTS } from '../store/contract/retention.ts'
import type { Ordered } from '../store/contract/operators.ts'
import type { RefusalCode } from '../model/event-action.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { findExcess, nextUsual } from './excess.ts'
import { limitsAt } from './limits.ts'
import type { RetentionPolicy } from './options.ts'

export interface PruneContext {
  readonly store: { readonly retention: RetentionStore }
  readonly policy: RetentionPolicy
  readonly happenings?: HappeningEmitter
}

/** What a run is asked to do beside its policy. */
export interface PruneRequest {
  /** Whether to remove what is far more than usual. */
  readonly force?: boolean
  /** Of a run that a person wants: it is written to the audit. */
  readonly order?: Ordered
  /** Ends the run after the step that it is at. */
  readonly signal?: AbortSignal
}

/** What became of a run. */
export type Pruned =
  | { readonly status: 'done'; readonly removed: PruneCounts }
  | {
      readonly status: 'refused'
      /**
       * `PRUNE_UNUSUAL`: it would remove far more than usual. `PRUNE_BUSY`: another pruner is at work. `TOKEN_USED`: its
       * token stands for something else.
       */
      readonly code: RefusalCode
      /** What is unusual, in words. */
      readonly excess?: string
      /** What was removed before it was refused. */
      readonly removed: PruneCounts
    }

/** How much longer than a step the pause after it is. */
const PAUSE_TIMES = 3

export const NOTHING_REMOVED: PruneCounts = Object.freeze({
  events: 0,
  requests: 0,
  attempts: 0,
  steps: 0,
  deliveries: 0,
  messages: 0,
  runs: 0,
  audit: 0,
  bulks: 0,
  keys: 0,
  lanes: 0,
  outcomes: 0,
  discarded: 0,
  partitions: 0,
})

export async function prune(
  { store, policy, happenings }: PruneContext,
  { force = false, order, signal }: PruneRequest = {},
): Promise<Pruned> {
  const { retention } = store
  const { nowMs } = await retention.findLastRun()
  const survey = await retention.survey(limitsAt(policy, nowMs))
  const excess = force ? undefined : findExcess(survey)
  if (excess !== undefined) {
    happenings?.emit('retention.stopped', { reason: excess })
    return { status: 'refused', code: 'PRUNE_UNUSUAL', excess, removed: NOTHING_REMOVED }
  }
  const begun = order && (await retention.beginOrdered(order))
  if (begun?.status === 'done') return begun
  if (begun?.status === 'refused') return { ...begun, removed: NOTHING_REMOVED }
  const run = new Run(retention, survey, signal)
  await run.go()
  const { removed, isBusy }: { removed: PruneCounts; isBusy: boolean } = run
  // One that was broken off is no run: another process takes up the rest today.
  if (!isBusy && signal?.aborted !== true)
    await retention.noteRun(
      nextUsual(survey, removed),
      begun && { auditId: begun.auditId, removed },
    )
  const reason = order?.reason
  if (!isBusy || Object.values(removed).some((count) => count > 0))
    happenings?.emit('retention.pruned', { ...removed, ...(reason !== undefined && { reason }) })
  return isBusy ? { status: 'refused', code: 'PRUNE_BUSY', removed } : { status: 'done', removed }
}

class Run {
  readonly #store: RetentionStore
  readonly #survey: PruneSurvey
  readonly #signal: AbortSignal | undefined
  removed: PruneCounts = NOTHING_REMOVED
  isBusy = false

  constructor(store: RetentionStore, survey: PruneSurvey, signal: AbortSignal | undefined) {
    this.#store = store
    this.#survey = survey
    this.#signal = signal
  }

  async go(): Promise<void> {
    const store = this.#store
    const { limits } = this.#survey
    // Dead events first: what is discarded by this may leave with its partition.
    await this.#steps((after) => store.prune('dead', limits, after))
    if (store.dropPartitions !== undefined) {
      const drop = store.dropPartitions.bind(store)
      await this.#steps(() => drop(limits))
    }
    for (const part of PRUNE_PARTS) {
      if (part !== 'dead') await this.#steps((after) => store.prune(part, limits, after))
    }
    while (!this.#isOver && (await store.shrink?.()) === true) await pause(1)
  }

  get #isOver(): boolean {
    return this.isBusy || this.#signal?.aborted === true
  }

  async #steps(take: (after: string | undefined) => Promise<PruneStep>): Promise<void> {
    let after: string | undefined
    do {
      if (this.#isOver) return
      const startedAt = performance.now()
      const step = await take(after)
      this.#count(step)
      after = step.next
      const heldMs = step.heldMs ?? performance.now() - startedAt
      if (after !== undefined) await pause(heldMs * PAUSE_TIMES)
    } while (after !== undefined)
  }

  #count({ removed, isBusy }: PruneStep): void {
    this.isBusy ||= isBusy
    this.removed = Object.fromEntries(
      Object.entries(this.removed).map(([name, count]) => [
        name,
        Number(count) + (removed[name as keyof PruneCounts] ?? 0),
      ]),
    ) as unknown as PruneCounts
  }
}
