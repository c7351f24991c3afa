import type { DeliveryHeaders } from './delivery.ts'
import type { Digest } from './digest.ts'
import type { OrderText } from './order-text.ts'
import type { QuarantineReason } from './quarantine-reason.ts'
import type { RedeliveryPolicy, SameBytesPolicy } from './source.ts'

/** Ours: a UUIDv7 whose time is the database's. */
export type EventId = string

/**
 * What a handler gets: an envelope around what the sender sent.
 *
 * Each run of a handler has its own: what it changes in the payload, the body, the headers or the dates is seen by
 * no other handler of the event, and not by itself when it runs again.
 */
export interface WebhookEvent<Payload = unknown, Type extends string = string> {
  /** Ours. For the sender's identity of the event see `key`. */
  readonly id: EventId
  readonly source: string
  /** The sender's stable identity of the event. */
  readonly key: string
  readonly type: Type
  /** The body, parsed as JSON (or as a form, where the sender says so). */
  readonly payload: Payload
  /** The bytes as they arrived; of a request with several events, the part that holds this one. */
  readonly body: Uint8Array
  readonly headers: DeliveryHeaders
  readonly receivedAt: Date
  /** When it happened, by the sender's clock, where the sender says so. */
  readonly occurredAt: Date | undefined
  /**
   * The label of the secret that verified it, never the secret itself: the `label` that the source gives the secret,
   * or its place in the list ('1', '2', …). For schemes without shared secrets it names the key or certificate.
   */
  readonly verifiedBy: string
  /**
   * Whether an operator has replaced the body for this run: what is in `body` and `payload` is then not what the sender
   * has signed.
   */
  readonly isModified: boolean
}

/** An event about to be stored. */
export interface EventDraft {
  readonly source: string
  /** An event without a key has a `quarantine`. */
  readonly key: string | undefined
  readonly type: string
  /** SHA-256 of (source, scope, key), length-prefixed. The identity. */
  readonly keyHash: Digest
  /** SHA-256 of the bytes that stay the same between retries. Tells a duplicate from a conflict. */
  readonly fingerprint: Digest
  /**
   * A second hash that may be seen only once, beside the key: SHA-256 of (source, fingerprint) where the same bytes
   * under another key must be noticed, of (source, delivery key) where the sender signs that and not the body.
   */
  readonly contentHash: Digest | undefined
  readonly sameBytes: SameBytesPolicy
  readonly redelivery: RedeliveryPolicy
  /** Why the event must not run, where the delivery alone shows it. The store may find another reason. */
  readonly quarantine: QuarantineReason | undefined
  readonly body: Uint8Array
  /**
   * The whole request, where `body` is a part of it: the same object for every event of the delivery, and kept once
   * for all of them.
   */
  readonly request: Uint8Array | undefined
  readonly headers: DeliveryHeaders
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  /** The version of the object that the event is about, which rises when the object changes, as an `OrderText`. */
  readonly version: OrderText | undefined
  /** The sender's count of its events, as an `OrderText`. */
  readonly sequence: OrderText | undefined
  /** The label of the secret that verified it. */
  readonly verifiedBy: string
}

/** What became of a draft. */
export interface Recorded {
  /**
   * - `accepted`: a new event, ready to run.
   * - `duplicate`: the event was here already, with the same content.
   * - `revived`: a duplicate of a dead event, which was queued again.
   * - `conflict`: the key was here already, with other content; kept beside it, parked.
   * - `quarantined`: kept and parked, see `reason`.
   */
  readonly status: 'accepted' | 'duplicate' | 'revived' | 'conflict' | 'quarantined'
  readonly eventId: EventId
  readonly reason?: QuarantineReason
}
