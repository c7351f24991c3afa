import { countHappenings } from './count-happenings.ts'
import { renderCounted, takeCounted } from './counted.ts'
import type { Counted } from './counted.ts'
import { defineMetrics } from './definitions.ts'
import type { MeasuredInbox } from './measured-inbox.ts'
import { StoreReading } from './store-reading.ts'

/** The numbers of an inbox, from when it is watched. */
export interface Metrics {
  /** What `content-type` a response with them has. */
  readonly contentType: string
  /**
   * Watches an inbox from now on, in place of the one before, and goes on counting: for a process that makes a new
   * inbox when its configuration changes.
   */
  watch(inbox: MeasuredInbox): void
  /** All of them as text. Never rejects: without its store, `hookonce_store_up` is 0 and what is kept there is left out. */
  render(): Promise<string>
  /** Stops watching. */
  stop(): void
}

/** A machine whose clock was never set is decades off, and would leave nothing to be seen of others beside it. */
const DAY_S = 86_400

/** The numbers of the inbox that is watched, and of those before it. */
export class InboxMetrics implements Metrics {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  readonly #metrics = defineMetrics()
  readonly #count = countHappenings(this.#metrics)
  readonly #reading = new StoreReading()
  #watched: MeasuredInbox | undefined
  #stopListening: () => void = () => undefined

  constructor() {
    this.#metrics.storeOutages.add({}, 0)
    this.#metrics.commitsUnknown.add({}, 0)
  }

  watch(inbox: MeasuredInbox): void {
    this.#stopListening()
    this.#watched = inbox
    this.#stopListening = inbox.events.onAny(this.#count)
    const { listenDown, deliveries, settled, lanesBlocked } = this.#metrics
    listenDown.set({}, 0)
    // There before the first delivery, so that a source that is silent can be told from one that is not there.
    for (const source of inbox.sourceNames) {
      for (const outcome of ['accepted', 'duplicate', 'refused'])
        deliveries.add({ source, outcome }, 0)
      // What alerts look at: Prometheus does not see a counter that begins with 1 grow.
      settled.add({ source, state: 'dead' }, 0)
      lanesBlocked.add({ source }, 0)
    }
  }

  /** What this process has counted, for another one to add up. */
  count(): Counted {
    this.#metrics.ready.set({}, this.#watched?.isReady() === true ? 1 : 0)
    const skewMs = this.#watched?.clockSkewMs
    if (skewMs !== undefined)
      this.#metrics.clockSkew.set({}, Math.max(-DAY_S, Math.min(skewMs / 1_000, DAY_S)))
    return takeCounted(this.#metrics)
  }

  /** With what several processes have counted, where it is not only this one. */
  async render(counted: Counted = this.count()): Promise<string> {
    const store = this.#watched === undefined ? '' : await this.#reading.render(this.#watched.admin)
    return renderCounted(counted) + store
  }

  stop(): void {
    this.#stopListening()
  }
}
