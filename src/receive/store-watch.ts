import type { EventDraft, Recorded } from '../model/event.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { CommittedKeys } from './committed-keys.ts'
import { Heartbeat } from './heartbeat.ts'
import { HistoryWatch } from './history-watch.ts'
import { StoreHealth } from './store-health.ts'
import { WriteCheck } from './write-check.ts'

export interface StoreWatchContext {
  readonly store: Pick<Store<unknown>, 'events' | 'operators'>
  readonly committedKeys: CommittedKeys
  readonly happenings: HappeningEmitter
  /** Something may be due that was not. */
  readonly onDue: () => void
  /** Keeps messages from being sent that may have been sent in a history that is lost. */
  readonly pauseSending: (reason: string) => Promise<void>
}

/** Watches the store for as long as an inbox runs: whether it answers, whether it can write, its clock and its history. */
export class StoreWatch {
  readonly #health: StoreHealth
  readonly #heartbeat: Heartbeat
  readonly #history: HistoryWatch
  readonly #writes: WriteCheck

  constructor(context: StoreWatchContext) {
    const health = new StoreHealth(context.happenings)
    this.#health = health
    this.#history = new HistoryWatch(context)
    this.#heartbeat = new Heartbeat({ ...context, health, history: this.#history })
    this.#writes = new WriteCheck({ ...context, health })
  }

  /** Whether a delivery could be stored now, as far as is known. */
  get isUp(): boolean {
    return this.#heartbeat.hasBeaten && this.#health.isUp
  }

  /** Whether the database was the one it was when it was last looked at, a moment ago. */
  get isHistoryKnown(): boolean {
    return this.#heartbeat.isConfirmed
  }

  /** By how much this process's clock is ahead of the store's. */
  get clockSkewMs(): number | undefined {
    return this.#heartbeat.skewMs
  }

  recorded(recorded: readonly Recorded[]): void {
    this.#history.recorded(recorded)
    this.#writes.recorded()
  }

  /** Events could not be recorded, of which this is the first. */
  failed(draft: EventDraft | undefined, error: unknown): void {
    this.#writes.failed(draft, error)
  }

  /** Rejects if the store does not answer. That it cannot write is told, and no reason not to start. */
  async start(): Promise<void> {
    await this.#heartbeat.start()
    await this.#writes.start()
  }

  async stop(): Promise<void> {
    this.#heartbeat.stop()
    await this.#writes.stop()
  }
}
