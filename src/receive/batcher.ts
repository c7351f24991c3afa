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
import type { EventStore } from '../store/contract/events.ts'
import { collapse } from './collapse.ts'
import type { Bundle } from './collapse.ts'

export type RecordingStore = Pick<
  EventStore,
  'record' | 'recordConcurrency' | 'findKnown' | 'isHeld'
>

export interface BatcherOptions {
  readonly batchMax: number
  readonly waitingMax: number
  readonly answerTimeoutMs: number
}

/** Past it a batch is closed: two hundred bodies of a megabyte are no single statement. */
const BATCH_BYTES_MAX = 8_388_608

/** A batch that waits for no lock is stored in a few milliseconds. */
const LONG_MS = 25

/** One delivery's drafts on their way to the store. */
interface Parcel extends Bundle {
  /** On the clock of `performance.now()`. */
  readonly expiresAt: number
  /** Answers the sender without the store. */
  readonly timer: NodeJS.Timeout
  readonly resolve: (recorded: readonly RecordedDraft[]) => void
  readonly reject: (error: Error) => void
}

/** A batch that is on its way. */
interface Flight {
  readonly sending: Promise<readonly Recorded[]>
  /** Where in it each draft is, by what makes it the same as another. */
  readonly places: ReadonlyMap<string, number>
}

export interface RecordedDraft extends Recorded {
  /** Whether the answer is another delivery's, which was on its way at the same time. */
  readonly shared: boolean
}

export class Batcher {
  readonly #store: RecordingStore
  readonly #options: BatcherOptions
  // A few, each with a table of its own. One table for all, with drafts coming and going, outgrows itself again and
  // again. Each table that it outgrew points to the next, and one of them in the old generation keeps all that follow
  // from being collected, with the requests in them. Measured under the load of W1: 1 to 2 MB of 12 were carried over
  // by every collection.
  #flights: readonly Flight[] = []
  #waiting: Parcel[] = []
  #batchesInFlight = 0
  #lastSentAt = 0
  #flushIsScheduled = false

  constructor(store: RecordingStore, options: BatcherOptions) {
    this.#store = store
    this.#options = options
  }

  /**
   * Resolves when the drafts are durable, and rejects when the sender would wait no longer.
   *
   * @throws StoreUnavailableError, CommitUnknownError, StoreRejectedError
   */
  record(drafts: readonly EventDraft[]): Promise<readonly RecordedDraft[]> {
    const { answerTimeoutMs } = this.#options
    const expiresAt = performance.now() + answerTimeoutMs
    const identities = drafts.map(identityOf)
    return new Promise((resolve, reject) => {
      // How long the sender waits is the limit, whatever the database does. What is on its way may still arrive.
      const giveUp = (): void =>
        reject(new StoreUnavailableError(`The store did not answer within ${answerTimeoutMs} ms`))
      const timer = setTimeout(giveUp, answerTimeoutMs)
      this.#dispatch({ drafts, identities, expiresAt, timer, resolve, reject })
    })
  }

  #dispatch(parcel: Parcel): void {
    const flights = this.#findFlights(parcel.identities)
    if (flights !== undefined) {
      return this.#answerFrom(parcel, shareFlights(parcel.identities, flights))
    }
    const { findKnown } = this.#store
    if (findKnown === undefined || !this.#mayWaitLong()) return this.#enqueue(parcel)
    // A duplicate need not wait for a handler to end.
    findKnown(parcel.drafts).then(
      (known) =>
        known.every((recorded) => recorded !== undefined)
          ? this.#resolve(parcel, known.map(asOwn))
          : this.#enqueue(parcel),
      (error: unknown) => this.#reject(parcel, error),
    )
  }

  #answerFrom(parcel: Parcel, recording: Promise<readonly RecordedDraft[]>): void {
    recording.then(
      (recorded) => this.#resolve(parcel, recorded),
      (error: unknown) => this.#reject(parcel, error),
    )
  }

  #resolve(parcel: Parcel, recorded: readonly RecordedDraft[]): void {
    clearTimeout(parcel.timer)
    parcel.resolve(recorded)
  }

  #reject(parcel: Parcel, error: unknown): void {
    clearTimeout(parcel.timer)
    parcel.reject(asStoreError(error))
  }

  /** A handler of this process holds the store, or one of another process seems to. */
  #mayWaitLong(): boolean {
    if (this.#store.isHeld?.() === true) return true
    return this.#batchesInFlight > 0 && performance.now() - this.#lastSentAt > LONG_MS
  }

  #enqueue(parcel: Parcel): void {
    const { waitingMax } = this.#options
    if (this.#waiting.length >= waitingMax) {
      const error = new StoreUnavailableError(`${waitingMax} deliveries wait for the store already`)
      return this.#reject(parcel, error)
    }
    this.#waiting.push(parcel)
    this.#scheduleFlush()
  }

  /** Resolves when nothing is on its way any more. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#batchesInFlight > 0) {
      await Promise.allSettled(this.#flights.map(({ sending }) => sending))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** The batches that carry all of these, or `undefined` when one of them is not on its way. */
  #findFlights(identities: readonly string[]): readonly Flight[] | undefined {
    const flights: Flight[] = []
    for (const identity of identities) {
      const flight = this.#flights.find(({ places }) => places.has(identity))
      if (flight === undefined) return undefined
      flights.push(flight)
    }
    return flights
  }

  /** At the end of this round of the event loop, so that what arrived in one round travels together. */
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
    let bytes = 0
    let taken = 0
    for (const parcel of this.#waiting) {
      if (batch.length > 0 && size + parcel.drafts.length > this.#options.batchMax) break
      if (bytes > BATCH_BYTES_MAX) break
      taken += 1
      // The sender has been answered.
      if (parcel.expiresAt <= now) continue
      batch.push(parcel)
      size += parcel.drafts.length
      for (const draft of parcel.drafts) bytes += draft.body.byteLength
      bytes += parcel.drafts[0]?.request?.byteLength ?? 0
    }
    this.#waiting = this.#waiting.slice(taken)
    return batch
  }

  async #send(parcels: readonly Parcel[]): Promise<void> {
    this.#batchesInFlight += 1
    this.#lastSentAt = performance.now()
    try {
      await this.#sendTogether(parcels)
    } catch (error) {
      if (error instanceof StoreRejectedError && parcels.length > 1)
        await this.#sendOneByOne(parcels)
      else for (const parcel of parcels) this.#reject(parcel, error)
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
        this.#reject(parcel, error)
      }
    }
  }

  async #sendTogether(parcels: readonly Parcel[]): Promise<void> {
    const { drafts, places } = collapse(parcels)
    const sending = this.#store.record(drafts, { deadlineMs: findTimeLeftMs(parcels) })
    const flight: Flight = { sending, places }
    this.#flights = [...this.#flights, flight]
    try {
      this.#answer(parcels, places, await sending)
    } finally {
      this.#flights = this.#flights.filter((one) => one !== flight)
    }
  }

  /** The first parcel with an identity gets the store's answer; later ones are its duplicates. */
  #answer(
    parcels: readonly Parcel[],
    places: ReadonlyMap<string, number>,
    recorded: readonly Recorded[],
  ): void {
    const answered = new Set<string>()
    for (const parcel of parcels) {
      const own = parcel.identities.map((identity) => {
        const one = recorded[places.get(identity) as number] as Recorded
        if (answered.has(identity)) return asShared(one)
        answered.add(identity)
        return asOwn(one)
      })
      this.#resolve(parcel, own)
    }
  }
}

/** Until the last of them is answered without the store. After that no sender waits for the batch. */
function findTimeLeftMs(parcels: readonly Parcel[]): number {
  const lastExpiresAt = parcels.reduce((last, { expiresAt }) => Math.max(last, expiresAt), 0)
  return Math.max(1, lastExpiresAt - performance.now())
}

async function shareFlights(
  identities: readonly string[],
  flights: readonly Flight[],
): Promise<readonly RecordedDraft[]> {
  const batches = await Promise.all(flights.map(({ sending }) => sending))
  return identities.map((identity, at) => {
    const place = flights[at]?.places.get(identity) as number
    return asShared(batches[at]?.[place] as Recorded)
  })
}

function asOwn(recorded: Recorded): RecordedDraft {
  return { ...recorded, shared: false }
}

function asShared(recorded: Recorded): RecordedDraft {
  return { status: 'duplicate', eventId: recorded.eventId, shared: true }
}

/**
 * Equal key and equal content: equal draft. One that is to run never shares the answer of one that is not, and one that
 * was signed anew has a content hash of its own to claim.
 */
function identityOf(draft: EventDraft): string {
  return draft.keyHash + draft.fingerprint + (draft.quarantine ?? '') + (draft.contentHash ?? '')
}

function asStoreError(error: unknown): Error {
  if (error instanceof StoreUnavailableError) return error
  if (error instanceof CommitUnknownError || error instanceof StoreRejectedError) return error
  return new StoreUnavailableError('The store failed', { cause: error })
}
