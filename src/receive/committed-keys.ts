/**
 * Remembers keys that are known to be committed, so that a storm of duplicates is answered without
 * the database.
 *
 * Memory can be wrong in three ways, and each has its guard: keys can be dropped (forget, prune) or
 * the database replaced (restore, promotion), which changes the epoch the heartbeat reads; an event
 * can die, after which its redelivery is a wish to try again, so the heartbeat names the dead; and the
 * heartbeat itself can stop, after which nothing remembered is used.
 *
 * @module
 */

import type { Beat } from '../store/contract.ts'
import type { Digest } from '../model/digest.ts'
import type { EventDraft, EventId } from '../model/event.ts'

export class CommittedKeys {
  readonly #max: number
  readonly #entries = new Map<Digest, { readonly fingerprint: Digest; readonly eventId: EventId }>()
  /** Several keys may stand for one event, where a sender gives it several ids. */
  readonly #keysByEvent = new Map<EventId, Digest | Set<Digest>>()
  #epoch: string | undefined
  #validUntil = 0

  constructor(max: number) {
    this.#max = max
  }

  /** The event of a draft that is known to be committed with the same content. */
  find(draft: EventDraft): EventId | undefined {
    if (performance.now() >= this.#validUntil) return undefined
    const entry = this.#entries.get(draft.keyHash)
    if (entry?.fingerprint !== draft.fingerprint) return undefined
    // Back in at the end: a Map iterates in order of insertion, so its first entry is the oldest used.
    this.#entries.delete(draft.keyHash)
    this.#entries.set(draft.keyHash, entry)
    return entry.eventId
  }

  /** `epoch` is the one that held before the event was stored: if it has changed since, nothing is kept. */
  remember(draft: EventDraft, eventId: EventId, epoch: string | undefined): void {
    if (this.#max === 0 || epoch === undefined || epoch !== this.#epoch) return
    const key = draft.keyHash
    this.#drop(key)
    this.#entries.set(key, { fingerprint: draft.fingerprint, eventId })
    const keys = this.#keysByEvent.get(eventId)
    // Nearly every event has one key, and a Set of one takes ten times its memory.
    if (keys === undefined) this.#keysByEvent.set(eventId, key)
    else if (typeof keys === 'string') this.#keysByEvent.set(eventId, new Set([keys, key]))
    else keys.add(key)
    if (this.#entries.size > this.#max) this.#drop(this.#entries.keys().next().value)
  }

  get epoch(): string | undefined {
    return this.#epoch
  }

  /** What is remembered holds for `validMs` from the moment the beat was asked for. */
  confirm(beat: Beat, { askedAt, validMs }: { askedAt: number; validMs: number }): void {
    if (beat.epoch !== this.#epoch) this.#clear()
    this.#epoch = beat.epoch
    for (const eventId of beat.died) this.forget(eventId)
    this.#validUntil = askedAt + validMs
  }

  forget(eventId: EventId): void {
    const keys = this.#keysByEvent.get(eventId) ?? []
    for (const key of typeof keys === 'string' ? [keys] : keys) this.#entries.delete(key)
    this.#keysByEvent.delete(eventId)
  }

  #drop(key: Digest | undefined): void {
    const entry = key === undefined ? undefined : this.#entries.get(key)
    if (key === undefined || entry === undefined) return
    this.#entries.delete(key)
    const keys = this.#keysByEvent.get(entry.eventId)
    if (keys instanceof Set && keys.delete(key) && keys.size > 0) return
    this.#keysByEvent.delete(entry.eventId)
  }

  #clear(): void {
    this.#entries.clear()
    this.#keysByEvent.clear()
  }
}
