import type { Store } from '../store/contract.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { CommittedKeys } from './committed-keys.ts'
import { Heartbeat } from './heartbeat.ts'
import { StoreHealth } from './store-health.ts'
import { WriteCheck } from './write-check.ts'

export interface StoreWatchContext {
  readonly store: Pick<Store<unknown>, 'beat' | 'keepClock' | 'recordEvents'>
  readonly committedKeys: CommittedKeys
  readonly happenings: HappeningEmitter
  /** Something may be due that was not. */
  readonly onDue: () => void
}

/** Watches the store for as long as an inbox runs: whether it answers, whether it can write, and its clock. */
export class StoreWatch {
  readonly #health: StoreHealth
  readonly #heartbeat: Heartbeat
  /** Is told how recordings went. */
  readonly writes: WriteCheck

  constructor(context: StoreWatchContext) {
    const health = new StoreHealth(context.happenings)
    this.#health = health
    this.#heartbeat = new Heartbeat({ ...context, health })
    this.writes = new WriteCheck({ ...context, health })
  }

  /** Whether a delivery could be stored now, as far as is known. */
  get isUp(): boolean {
    return this.#heartbeat.hasBeaten && this.#health.isUp
  }

  /** Rejects if the store does not answer. That it cannot write is told, and no reason not to start. */
  async start(): Promise<void> {
    await this.#heartbeat.start()
    await this.writes.start()
  }

  async stop(): Promise<void> {
    this.#heartbeat.stop()
    await this.writes.stop()
  }
}
