import { asError } from '../errors.ts'
import type { EventId } from '../model/event.ts'
import type { Store } from '../store/contract.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { CommittedKeys } from './committed-keys.ts'
import type { HistoryWatch } from './history-watch.ts'

const BEAT_MS = 1_000
/** Three beats may be missed: a busy event loop is no reason to send a storm to the database. */
const VALID_MS = 3 * BEAT_MS
const SKEW_MS_MAX = 30_000
/** What is lost is always what came last, so a few of those tell. */
const LATEST = 10

/** Asks the store once a second whether what this process remembers still holds, and notices when it is away. */
export class Heartbeat {
  readonly #store: Pick<Store<unknown>, 'beat'>
  readonly #committedKeys: CommittedKeys
  readonly #happenings: HappeningEmitter
  readonly #history: HistoryWatch
  #since: Date | undefined
  #downSince: number | undefined
  #skewReportedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #skewMs = 0

  constructor(
    store: Pick<Store<unknown>, 'beat'>,
    committedKeys: CommittedKeys,
    happenings: HappeningEmitter,
    history: HistoryWatch,
  ) {
    this.#store = store
    this.#committedKeys = committedKeys
    this.#happenings = happenings
    this.#history = history
  }

  /** Whether the last beat was answered. `false` before the first. */
  get storeIsUp(): boolean {
    return this.#since !== undefined && this.#downSince === undefined
  }

  get skewMs(): number {
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

  /** Something else noticed that the store is away, or back. */
  noticeDown(error: Error): void {
    if (this.#downSince !== undefined) return
    this.#downSince = performance.now()
    this.#happenings.emit('store.unavailable', { error })
  }

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#beat()
        .catch((error: unknown) => this.noticeDown(asError(error)))
        .finally(() => this.#schedule())
    }, BEAT_MS).unref()
  }

  async #beat(): Promise<void> {
    const askedAt = performance.now()
    const beat = await this.#store.beat(this.#since)
    // Before the memory of keys is dropped with the old epoch.
    await this.#history.check(beat, this.#latest(beat.epoch))
    this.#since = beat.now
    this.#committedKeys.confirm(beat, { askedAt, validMs: VALID_MS })
    this.#noticeUp()
    this.#noticeSkew(beat.skewMs)
  }

  /** Looked for only when they may be gone: it is a walk over all that is remembered. */
  #latest(epoch: string): readonly EventId[] {
    return epoch === this.#committedKeys.epoch ? [] : this.#committedKeys.latest(LATEST)
  }

  #noticeUp(): void {
    if (this.#downSince === undefined) return
    const downMs = Math.round(performance.now() - this.#downSince)
    this.#downSince = undefined
    this.#happenings.emit('store.available', { downMs })
  }

  /** Said once a minute: with a wrong clock every signature with a timestamp looks stale. */
  #noticeSkew(skewMs: number): void {
    this.#skewMs = skewMs
    if (Math.abs(skewMs) <= SKEW_MS_MAX) return
    if (performance.now() - this.#skewReportedAt < 60_000) return
    this.#skewReportedAt = performance.now()
    this.#happenings.emit('clock.skewed', { skewMs })
  }
}
