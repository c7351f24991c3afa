/**
 * Prunes once a day, in one process of all that share a database.
 *
 * Each process looks now and then whether a day has passed since the last run, by what that run has written down. Two
 * that find so at once are no harm: a step that meets another pruner ends the run. A process also writes down how long
 * things are kept, for a pruner without an inbox.
 *
 * @module
 */

import { asError } from '../errors.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { DAY_MS } from './limits.ts'
import { prune } from './prune.ts'
import type { PruneContext } from './prune.ts'

export interface DailyPruneContext extends PruneContext {
  readonly happenings: HappeningEmitter
  /** How often to look. */
  readonly lookMs?: number
}

const HOUR_MS = 3_600_000
/** A process that was just started has other things to do. */
const FIRST_LOOK_MS = 60_000

export class DailyPrune {
  readonly #context: DailyPruneContext
  readonly #lookMs: number
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isAnnounced = false
  /** When a run was refused here, which is told once a day. By a clock that cannot be set. */
  #refusedAt = -Infinity

  constructor(context: DailyPruneContext) {
    this.#context = context
    this.#lookMs = context.lookMs ?? HOUR_MS
  }

  start(): void {
    this.#running = this.announce().finally(() =>
      this.#schedule(Math.min(this.#lookMs, FIRST_LOOK_MS)),
    )
  }

  /** Writes down how long things are kept, once. What cannot be written now is written by the next call, or look. */
  async announce(): Promise<void> {
    if (!this.#isAnnounced) await this.#keepPolicy().catch(() => undefined)
  }

  /** Ends a run after the step that it is at. */
  async stop(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
    await this.#running
  }

  /** The jitter keeps processes that were started together from looking together. */
  #schedule(inMs: number): void {
    if (this.#stop.signal.aborted) return
    const timer = setTimeout(
      () => {
        this.#running = this.#look()
          .catch((error: unknown) =>
            this.#context.happenings.emit('retention.error', { error: asError(error) }),
          )
          .finally(() => this.#schedule(this.#lookMs))
      },
      inMs * (1 + Math.random() / 4),
    )
    this.#timer = timer.unref()
  }

  async #keepPolicy(): Promise<void> {
    const { store, policy } = this.#context
    await store.retention.keepPolicy(JSON.stringify(policy))
    this.#isAnnounced = true
  }

  async #look(): Promise<void> {
    const { store, policy } = this.#context
    await this.#keepPolicy()
    if (!policy.daily) return
    if (performance.now() - this.#refusedAt < DAY_MS) return
    const { nowMs, lastMs } = await store.retention.findLastRun()
    const sinceMs = nowMs - lastMs
    if (sinceMs >= 0 && sinceMs < DAY_MS) return
    const result = await prune(this.#context, { signal: this.#stop.signal })
    if (result.status === 'refused' && result.code === 'PRUNE_UNUSUAL')
      this.#refusedAt = performance.now()
  }
}
