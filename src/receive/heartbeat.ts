import { asError } from '../errors.ts'
import { MEMORY_VALID_MS } from '../store/contract/memory-valid-ms.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { isClockSkewed } from './clock-skew.ts'
import type { CommittedKeys } from './committed-keys.ts'
import type { HistoryWatch } from './history-watch.ts'
import type { StoreHealth } from './store-health.ts'

const BEAT_MS = 1_000

export interface HeartbeatContext {
  readonly store: Pick<Store<unknown>, 'events'>
  readonly committedKeys: CommittedKeys
  readonly happenings: HappeningEmitter
  readonly health: StoreHealth
  readonly history: HistoryWatch
}

/** Asks the store once a second whether what this process remembers still holds, and so whether it answers. */
export class Heartbeat {
  readonly #store: Pick<Store<unknown>, 'events'>
  readonly #committedKeys: CommittedKeys
  readonly #happenings: HappeningEmitter
  readonly #health: StoreHealth
  readonly #history: HistoryWatch
  #since: Date | undefined
  #confirmedAt = -Infinity
  #skewMs: number | undefined
  #skewReportedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor({ store, committedKeys, happenings, health, history }: HeartbeatContext) {
    this.#store = store
    this.#committedKeys = committedKeys
    this.#happenings = happenings
    this.#health = health
    this.#history = history
  }

  /** Whether a beat was ever answered. */
  get hasBeaten(): boolean {
    return this.#since !== undefined
  }

  /** Whether a beat was answered a moment ago, and its history looked at. */
  get isConfirmed(): boolean {
    return performance.now() - this.#confirmedAt < MEMORY_VALID_MS
  }

  /** By how much this process's clock was ahead of the store's at the last beat. */
  get skewMs(): number | undefined {
    return this.#skewMs
  }

  /** Beats once, then once a second until stopped. Rejects if the first beat fails. */
  async start(): Promise<void> {
    this.#isStopped = false
    await this.#beat()
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#beat()
        .catch((error: unknown) => this.#health.fails('read', asError(error)))
        .finally(() => this.#schedule())
    }, BEAT_MS).unref()
  }

  async #beat(): Promise<void> {
    const askedAt = performance.now()
    const beat = await this.#store.events.beat(this.#since)
    await this.#history.check(beat)
    this.#since = beat.now
    this.#confirmedAt = askedAt
    this.#committedKeys.confirm(beat, { askedAt, validMs: MEMORY_VALID_MS })
    this.#health.works('read')
    this.#noticeSkew(beat.skewMs)
  }

  /** Said once a minute: with a wrong clock every signature with a timestamp looks stale. */
  #noticeSkew(skewMs: number): void {
    this.#skewMs = skewMs
    if (!isClockSkewed(skewMs)) return
    if (performance.now() - this.#skewReportedAt < 60_000) return
    this.#skewReportedAt = performance.now()
    this.#happenings.emit('clock.skewed', { skewMs })
  }
}
