/**
 * Remembers keys that are known to be committed, so that a storm of duplicates is answered without
 * the database.
 *
 * Memory can be wrong in three ways, and each has its check: keys can be dropped (forget, prune) or
 * the database replaced (restore, promotion), which changes the epoch the heartbeat reads; an event
 * can die, after which its redelivery is a wish to try again, so the heartbeat names the dead; and the
 * heartbeat itself can stop, after which nothing remembered is used.
 *
 * Two halves instead of a list in order of use: what is new goes into the younger, and when that is
 * full, the older is dropped whole. Nothing is taken out one by one.
 *
 * @module
 */

import type { Beat } from '../store/contract/events.ts'
import type { Digest } from '../model/digest.ts'
import type { EventDraft, EventId } from '../model/event.ts'

/** How far a sender's clock may be ahead of ours. */
const SENDER_CLOCK_MS = 3_600_000

interface Known {
  readonly fingerprint: Digest
  readonly contentHash: Digest | undefined
  readonly eventId: EventId
}

export class CommittedKeys {
  readonly #max: number
  #younger = new Map<Digest, Known>()
  #older = new Map<Digest, Known>()
  /** Events whose keys are not to be used, of which there may be several. Looking for the keys would be a walk over all. */
  readonly #forgotten = new Set<EventId>()
  #epoch: string | undefined
  #validUntil = 0
  #forgottenBefore: Date | undefined

  constructor(max: number) {
    this.#max = max
  }

  /** The event of a draft that is known to be committed with the same content. */
  find(draft: EventDraft): EventId | undefined {
    if (performance.now() >= this.#validUntil) return undefined
    const key = draft.keyHash
    const young = this.#younger.get(key)
    const known = young ?? this.#older.get(key)
    if (known?.fingerprint !== draft.fingerprint) return undefined
    // A retry that was signed anew has a signature that only the store can claim: until then it is good for another event.
    const { contentHash = known.contentHash } = draft
    if (contentHash !== known.contentHash) return undefined
    if (this.#forgotten.has(known.eventId)) return undefined
    if (young === undefined) this.#keep(key, known)
    return known.eventId
  }

  /** `epoch` is the one that held before the event was stored: if it has changed since, nothing is kept. */
  remember(draft: EventDraft, eventId: EventId, epoch: string | undefined): void {
    if (this.#max === 0 || epoch === undefined || epoch !== this.#epoch) return
    this.#forgotten.delete(eventId)
    const { keyHash, fingerprint, contentHash } = draft
    this.#keep(keyHash, { fingerprint, contentHash, eventId })
  }

  /**
   * Of a time of which keys were pruned it cannot be told what is new: an event of that time, by the sender's own, may
   * have run, and is kept for a person. One whose key is still known is a duplicate all the same. Exact as far as the
   * sender's clock is: what ended before a time has happened before it.
   */
  quarantineStale(drafts: readonly EventDraft[]): readonly EventDraft[] {
    if (this.#forgottenBefore === undefined) return drafts
    const staleBefore = this.#forgottenBefore.getTime() + SENDER_CLOCK_MS
    const isStale = ({ quarantine, occurredAt }: EventDraft): boolean =>
      quarantine === undefined && occurredAt !== undefined && occurredAt.getTime() < staleBefore
    return drafts.map((draft) => (isStale(draft) ? { ...draft, quarantine: 'stale' } : draft))
  }

  get epoch(): string | undefined {
    return this.#epoch
  }

  /** What is remembered holds for `validMs` from the moment the beat was asked for. */
  confirm(beat: Beat, { askedAt, validMs }: { askedAt: number; validMs: number }): void {
    if (beat.epoch !== this.#epoch) this.#clear()
    this.#epoch = beat.epoch
    this.#forgottenBefore = beat.forgottenBefore
    for (const eventId of beat.died) this.forget(eventId)
    this.#validUntil = askedAt + validMs
  }

  forget(eventId: EventId): void {
    this.#forgotten.add(eventId)
    // More dead events than keys: nothing that is remembered is worth the list of them.
    if (this.#forgotten.size > this.#max) this.#clear()
  }

  #keep(key: Digest, known: Known): void {
    this.#younger.set(key, known)
    if (this.#younger.size * 2 <= this.#max) return
    this.#older = this.#younger
    this.#younger = new Map()
  }

  #clear(): void {
    this.#younger.clear()
    this.#older.clear()
    this.#forgotten.clear()
  }
}
