/**
 * What an inbox does, as numbers for Prometheus. An entry of its own: `hookonce/metrics`.
 *
 * Counters and durations are those of this process, from what happens in it. How things stand is read from the store
 * when the page is asked for, at most every few seconds, and is the same in every process that shares the store.
 *
 * @module
 */

import type { CollectedStats } from '../admin/collect-stats.ts'
import type { Operator } from '../admin/operator.ts'
import type { AnyHappeningListener } from '../telemetry/emitter.ts'
import { countHappenings } from './count-happenings.ts'
import { defineMetrics, defineStoreMetrics } from './definitions.ts'

/** What is needed of an inbox. */
export interface MeasuredInbox {
  /** Where it tells what happens. */
  readonly events: { onAny(listener: AnyHappeningListener): () => void }
  /** How things stand. */
  readonly admin: Pick<Operator, 'stats'>
  /** The names of its sources. */
  readonly sourceNames: readonly string[]
  /** Whether it takes deliveries. */
  isReady(): boolean
}

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

/** What is read from the store is read again after so long. Several may ask: a pair of Prometheus servers, a person. */
const KEPT_MS = 5_000
/** A store that does not answer must not keep Prometheus waiting: it gives up after 10 s. */
const PATIENCE_MS = 3_000

/** Counts what happens in an inbox, for `/metrics`. */
export function createMetrics(inbox?: MeasuredInbox): Metrics {
  const metrics = defineMetrics()
  const reading = new StoreReading()
  const count = countHappenings(metrics)
  let watched: MeasuredInbox | undefined
  let stopListening = (): void => undefined
  const watch = (next: MeasuredInbox): void => {
    stopListening()
    watched = next
    stopListening = next.events.onAny(count)
    // There before the first delivery, so that a source that is silent can be told from one that is not there.
    for (const source of next.sourceNames) {
      for (const outcome of ['accepted', 'duplicate', 'refused'])
        metrics.deliveries.add({ source, outcome }, 0)
      // What alerts look at: Prometheus does not see a counter that begins with 1 grow.
      metrics.settled.add({ source, state: 'dead' }, 0)
      metrics.lanesBlocked.add({ source }, 0)
    }
  }
  if (inbox !== undefined) watch(inbox)
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    watch,
    stop: () => stopListening(),
    render: async () => {
      metrics.ready.set({}, watched?.isReady() === true ? 1 : 0)
      const store = watched === undefined ? '' : await reading.render(watched.admin)
      const own = Object.values(metrics).map((metric) => metric.render())
      return [...own, store].join('')
    },
  }
}

/** What the store says, read once for all who ask within a few seconds. */
class StoreReading {
  readonly #metrics = defineStoreMetrics()
  #reading: Promise<void> | undefined
  #readAt = Number.NEGATIVE_INFINITY

  async render(admin: MeasuredInbox['admin']): Promise<string> {
    if (performance.now() - this.#readAt > KEPT_MS)
      this.#reading ??= this.#read(admin).finally(() => (this.#reading = undefined))
    await within(PATIENCE_MS, this.#reading, () => this.#clear())
    return Object.values(this.#metrics)
      .map((metric) => metric.render())
      .join('')
  }

  async #read(admin: MeasuredInbox['admin']): Promise<void> {
    try {
      this.#show(await admin.stats({ over: 'none' }))
      this.#readAt = performance.now()
    } catch {
      this.#clear()
    }
  }

  /** What was true some time ago would look as if it were true now. */
  #clear(): void {
    for (const metric of Object.values(this.#metrics)) metric.clear()
    this.#metrics.up.set({}, 0)
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  #show({ at, states, queue, messages, workers, pauses }: CollectedStats): void {
    const { up, events, due, queueAge, messages: waiting, workers: alive, paused } = this.#metrics
    for (const metric of Object.values(this.#metrics)) metric.clear()
    up.set({}, 1)
    for (const [state, { count }] of Object.entries(states)) events.set({ state }, count)
    due.set({}, queue.due.count)
    const { oldestDueAt } = queue
    const ageMs = oldestDueAt === undefined ? 0 : at.getTime() - oldestDueAt.getTime()
    queueAge.set({}, Math.max(0, ageMs / 1_000))
    for (const { destination, state, count } of messages) waiting.set({ destination, state }, count)
    alive.set({}, workers.length)
    for (const kind of ['source', 'handler', 'destination', 'lane'])
      paused.set({ kind }, pauses.filter((pause) => pause.kind === kind).length)
  }
}

/** Waits for it no longer than that. */
async function within(
  ms: number,
  reading: Promise<void> | undefined,
  onLate: () => void,
): Promise<void> {
  if (reading === undefined) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      onLate()
      resolve()
    }, ms)
  })
  await Promise.race([reading, late])
  clearTimeout(timer)
}
