import type { EventId } from '../model/event.ts'
import type { DeliveryCount } from '../store/contract/events.ts'
import type { Store } from '../store/contract/store.ts'

/**
 * Counts deliveries per event and writes the counts once a second, after the answers have left.
 *
 * Best effort by design: a second may be lost in a crash, and no promise rests on it. Counting in the
 * receive transaction would make every duplicate a write.
 */
export class DeliveryCounter {
  readonly #store: Pick<Store<unknown>, 'events'>
  readonly #flushMs: number
  #counts = new Map<
    string,
    { eventId: EventId; outcome: DeliveryCount['outcome']; count: number }
  >()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(store: Pick<Store<unknown>, 'events'>, flushMs = 1_000) {
    this.#store = store
    this.#flushMs = flushMs
  }

  count(eventId: EventId, outcome: DeliveryCount['outcome']): void {
    const key = `${outcome} ${eventId}`
    const entry = this.#counts.get(key)
    if (entry !== undefined) entry.count += 1
    else this.#counts.set(key, { eventId, outcome, count: 1 })
    this.#timer ??= setTimeout(() => void this.flush(), this.#flushMs).unref()
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    if (counts.length > 0) {
      // One flush at a time; a store that is down loses the counts, not the events.
      this.#flushing = this.#flushing
        .then(() => this.#store.events.countDeliveries(counts))
        .catch(() => undefined)
    }
    return this.#flushing
  }
}
