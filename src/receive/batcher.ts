/**
 * Stores deliveries in batches without making any of them wait for one.
 *
 * Every delivery that arrives while a batch is on its way becomes part of the next: no timer decides,
 * the database's own pace does. A delivery's drafts stay together, so that all its events are stored
 * in one transaction. Each answer is held until its batch has committed.
 *
 * Two rules keep a storm of equal deliveries cheap: equal drafts in one batch are sent once, and a
 * delivery that is equal to one on its way waits for that one's answer.
 *
 * @module
 */

import { CommitUnknownError, StoreRejectedError, StoreUnavailableError } from '../errors.ts'
import type { EventDraft, Recorded } from '../model/event.ts'
import type { Store } from '../store/contract.ts'

export type RecordingStore = Pick<Store<unknown>, 'recordEvents' | 'recordConcurrency'>

export interface BatcherOptions {
  readonly batchMax: number
  readonly waitingMax: number
  readonly answerTimeoutMs: number
}

/** One delivery's drafts on their way to the store. */
interface Parcel {
  readonly drafts: readonly EventDraft[]
  readonly expiresAt: number
  readonly resolve: (recorded: readonly RecordedDraft[]) => void
  readonly reject: (error: Error) => void
}

export interface RecordedDraft extends Recorded {
  /** Whether the answer is another delivery's, which was on its way at the same time. */
  readonly shared: boolean
}

export class Batcher {
  readonly #store: RecordingStore
  readonly #options: BatcherOptions
  readonly #flights = new Map<string, Promise<Recorded>>()
  #waiting: Parcel[] = []
  #batchesInFlight = 0
  #flushIsScheduled = false

  constructor(store: RecordingStore, options: BatcherOptions) {
    this.#store = store
    this.#options = options
  }

  /**
   * Resolves when the drafts are durable.
   *
   * @throws StoreUnavailableError, CommitUnknownError, StoreRejectedError
   */
  record(drafts: readonly EventDraft[]): Promise<readonly RecordedDraft[]> {
    const flights = this.#findFlights(drafts)
    if (flights !== undefined) return flights
    if (this.#waiting.length >= this.#options.waitingMax) {
      return Promise.reject(new StoreUnavailableError(`${this.#options.waitingMax} deliveries wait for the store already`))
    }
    return new Promise((resolve, reject) => {
      const expiresAt = performance.now() + this.#options.answerTimeoutMs
      this.#waiting.push({ drafts, expiresAt, resolve, reject })
      this.#scheduleFlush()
    })
  }

  /** Resolves when nothing is on its way any more. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#batchesInFlight > 0) {
      await Promise.allSettled(this.#flights.values())
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #findFlights(drafts: readonly EventDraft[]): Promise<readonly RecordedDraft[]> | undefined {
    if (this.#flights.size === 0) return undefined
    const flights: Promise<Recorded>[] = []
    for (const draft of drafts) {
      const flight = this.#flights.get(identityOf(draft))
      if (flight === undefined) return undefined
      flights.push(flight)
    }
    return Promise.all(flights).then((recorded) => recorded.map(asShared))
  }

  /** At the end of this turn of the event loop, so that what arrived in one turn travels together. */
  #scheduleFlush(): void {
    if (this.#flushIsScheduled || this.#batchesInFlight >= this.#store.recordConcurrency) return
    this.#flushIsScheduled = true
    setImmediate(() => {
      this.#flushIsScheduled = false
      const parcels = this.#takeBatch()
      if (parcels.length === 0) return
      void this.#send(parcels)
      if (this.#waiting.length > 0) this.#scheduleFlush()
    })
  }

  #takeBatch(): Parcel[] {
    const now = performance.now()
    const batch: Parcel[] = []
    let size = 0
    let taken = 0
    for (const parcel of this.#waiting) {
      if (batch.length > 0 && size + parcel.drafts.length > this.#options.batchMax) break
      taken += 1
      if (parcel.expiresAt <= now) {
        parcel.reject(new StoreUnavailableError('The store did not take the delivery in time'))
        continue
      }
      batch.push(parcel)
      size += parcel.drafts.length
    }
    this.#waiting = this.#waiting.slice(taken)
    return batch
  }

  async #send(parcels: readonly Parcel[]): Promise<void> {
    this.#batchesInFlight += 1
    try {
      await this.#sendTogether(parcels)
    } catch (error) {
      if (error instanceof StoreRejectedError && parcels.length > 1) await this.#sendOneByOne(parcels)
      else for (const parcel of parcels) parcel.reject(asStoreError(error))
    } finally {
      this.#batchesInFlight -= 1
      this.#scheduleFlush()
    }
  }

  /** One row the database refuses must not fail its neighbours. */
  async #sendOneByOne(parcels: readonly Parcel[]): Promise<void> {
    for (const parcel of parcels) {
      try {
        await this.#sendTogether([parcel])
      } catch (error) {
        parcel.reject(asStoreError(error))
      }
    }
  }

  async #sendTogether(parcels: readonly Parcel[]): Promise<void> {
    const drafts = collapse(parcels)
    const identities = [...drafts.keys()]
    const sending = this.#store.recordEvents([...drafts.values()], { deadlineMs: this.#options.answerTimeoutMs })
    const flights = this.#openFlights(identities, sending)
    try {
      const recorded = await sending
      answer(parcels, new Map(identities.map((identity, index) => [identity, recorded[index] as Recorded])))
    } finally {
      this.#closeFlights(flights)
    }
  }

  #openFlights(
    identities: readonly string[],
    sending: Promise<readonly Recorded[]>,
  ): ReadonlyMap<string, Promise<Recorded>> {
    const flights = new Map<string, Promise<Recorded>>()
    identities.forEach((identity, index) => {
      const flight = sending.then((recorded) => recorded[index] as Recorded)
      // Nobody may be waiting for it; a rejection without a listener would end the process.
      flight.catch(() => undefined)
      flights.set(identity, flight)
      this.#flights.set(identity, flight)
    })
    return flights
  }

  #closeFlights(flights: ReadonlyMap<string, Promise<Recorded>>): void {
    for (const [identity, flight] of flights) {
      if (this.#flights.get(identity) === flight) this.#flights.delete(identity)
    }
  }
}

/** Equal keys with equal content are sent once. Equal keys with other content are a conflict and both sent. */
function collapse(parcels: readonly Parcel[]): Map<string, EventDraft> {
  const drafts = new Map<string, EventDraft>()
  for (const parcel of parcels) {
    for (const draft of parcel.drafts) {
      const identity = identityOf(draft)
      if (!drafts.has(identity)) drafts.set(identity, draft)
    }
  }
  return drafts
}

/** The first parcel with an identity gets the store's answer; later ones are its duplicates. */
function answer(parcels: readonly Parcel[], recorded: ReadonlyMap<string, Recorded>): void {
  const answered = new Set<string>()
  for (const parcel of parcels) {
    parcel.resolve(
      parcel.drafts.map((draft) => {
        const identity = identityOf(draft)
        const own = recorded.get(identity) as Recorded
        if (answered.has(identity)) return asShared(own)
        answered.add(identity)
        return { ...own, shared: false }
      }),
    )
  }
}

function asShared(recorded: Recorded): RecordedDraft {
  return { status: 'duplicate', eventId: recorded.eventId, shared: true }
}

function identityOf(draft: EventDraft): string {
  // The variant hash covers key and content: equal hash, equal draft.
  const { buffer, byteOffset, byteLength } = draft.variantHash
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}

function asStoreError(error: unknown): Error {
  if (error instanceof StoreUnavailableError) return error
  if (error instanceof CommitUnknownError || error instanceof StoreRejectedError) return error
  return new StoreUnavailableError('The store failed', { cause: error })
}
