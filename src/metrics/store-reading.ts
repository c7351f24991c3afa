import type { CollectedStats } from '../admin/collect-stats.ts'
import { defineStoreMetrics } from './definitions.ts'
import type { MeasuredInbox } from './measured-inbox.ts'

/** What is read from the store is read again after so long. Several may ask: a pair of Prometheus servers, a person. */
const KEPT_MS = 5_000
/** A store that does not answer must not keep Prometheus waiting: it gives up after 10 s. */
const PATIENCE_MS = 3_000

/** What the store says, read once for all that ask within a few seconds. */
export class StoreReading {
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

  #show(stats: CollectedStats): void {
    const { at, states, queue, messages, workers, pauses, openTransactions } = stats
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
    if (openTransactions !== undefined) this.#showOpen(at, openTransactions)
    for (const kind of ['source', 'handler', 'destination', 'lane'])
      paused.set({ kind }, pauses.filter((pause) => pause.kind === kind).length)
  }

  #showOpen(at: Date, open: NonNullable<CollectedStats['openTransactions']>): void {
    const { oldestTransaction, heldBack } = this.#metrics
    const agesMs = open.map(({ since = at }) => at.getTime() - since.getTime())
    oldestTransaction.set({}, Math.max(0, ...agesMs) / 1_000)
    heldBack.set({}, Math.max(0, ...open.map(({ behind = 0 }) => behind)))
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
