/**
 * A source is a configured sender: how its deliveries are verified, how its events are known,
 * and how it wants to be answered.
 *
 * @module
 */

import type { Delivery } from './delivery.ts'
import type { Prober } from './probe.ts'
import type { QuarantineReason } from './quarantine-reason.ts'
import type { SecretLabel } from './secret-use.ts'
import type { StandardSchema } from './standard-schema.ts'

/** Why a delivery was not believed. The sender is never told which; the log is. */
export type VerdictReason =
  | 'missing-header'
  | 'malformed-header'
  | 'malformed-timestamp'
  | 'stale'
  | 'bad-signature'
  /** A shared token, a password or a handshake's token is not ours. */
  | 'bad-token'
  /** The sender has no such key or certificate as the signature names, or it cannot be trusted. */
  | 'unknown-key'
  /** The key or certificate could not be fetched now. Our trouble and not the sender's: answered 503. */
  | 'key-unavailable'
  /** What the sender's scheme needs to be in the body is not there. */
  | 'malformed-body'

/** Whether a delivery is believed, and by which secret or why not. */
export type Verdict = BelievedVerdict | { readonly ok: false; readonly reason: VerdictReason }

/** A delivery is believed, and by which secret. */
export interface BelievedVerdict {
  readonly ok: true
  /** The label of the secret that matched, never the secret itself. Kept as evidence. */
  readonly secret: string
  /** Why its events are kept for a person instead of being run. Left out, they run. */
  readonly quarantine?: QuarantineReason
  /**
   * The text that was signed, for schemes in which several requests have one signature. `identify` takes
   * the fingerprint of it: whatever is made of a captured request is then known as that request.
   */
  readonly signed?: Uint8Array
}

/** What a verified delivery says happened. One delivery may carry several events. */
export interface IdentifiedEvent {
  /** The sender's stable identity of the event; `undefined` when it cannot be found. */
  readonly key: string | undefined
  /** What narrows the key: an account, live or test mode. Part of the identity. */
  readonly scope?: string
  readonly type: string
  readonly occurredAt?: Date
  /** What rises when the object changes: of two events of one object the higher is the later. */
  readonly version?: number | string
  /** The sender's count of its events, where it keeps one. */
  readonly sequence?: number | string
  /**
   * The bytes that stay the same from one retry of this event to the next. Left out, it is the
   * whole body. The fingerprint that tells a duplicate from a conflict is taken over these.
   */
  readonly content?: Uint8Array
  /**
   * What the sender signs for this delivery and no other, where its signature does not cover the body. The
   * same with other content is a conflict, whatever key that content names. For a delivery of one event.
   */
  readonly deliveryKey?: string
  /** This event's own part of a delivery that carries several. Left out, it is the whole body. */
  readonly body?: Uint8Array
  /** What `body` is, where it differs from the delivery's own content type: JSON cut out of a form. */
  readonly bodyType?: string
  /** Why it is kept without being run. Left out, it runs if it has a key. */
  readonly quarantine?: QuarantineReason
}

/** The events of one delivery. */
export type Identified = readonly IdentifiedEvent[]

/** What a source need not go beyond when it looks for the events of a delivery. */
export interface IdentifyLimits {
  /** Of a delivery with more events than this none is run, so that one more than this is enough to return. */
  readonly eventsMax: number
}

/**
 * What to do with bytes that were seen before under another key.
 *
 * - `quarantine`: keep it for a person. For senders whose id travels in an unsigned header, where
 *   a captured request could be sent again under a fresh id.
 * - `duplicate`: it is the same event. For senders known to give one event several ids.
 * - `run`: it is another event. For senders whose id is signed, or whose bodies repeat.
 */
export type SameBytesPolicy = 'quarantine' | 'duplicate' | 'run'

/** When to answer: as soon as the event is durable, or when its outcome is known. */
export type AcknowledgePolicy = 'stored' | 'processed'

/** What the redelivery of a dead event means: try again, or just count it. */
export type RedeliveryPolicy = 'retry' | 'count'

/** How a success is written. */
export interface SuccessAnswer {
  readonly status: 200 | 202 | 204
  /** `empty` for senders that read meaning into a body, a text for those that want that very text. */
  readonly body: 'json' | 'empty' | ExactBody
}

/** A body that is sent to the letter. */
export interface ExactBody {
  readonly text: string
  readonly contentType: string
}

/** How a delivery that is not believed is answered, for senders that want it otherwise than 401 with JSON. */
export interface RefusalAnswer {
  readonly status: number
  readonly body: 'json' | 'empty'
}

/** What a sender that checks the endpoint before it uses it is told. */
export interface HandshakeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** `refuse` for a handshake with a wrong token; `undefined` for a delivery that is no handshake. */
export type HandshakeResult = HandshakeAnswer | 'refuse' | undefined

/** Whether a delivery's signature has been found to hold yet. */
export type HandshakeStage = 'unverified' | 'verified'

/**
 * Maps event types to the payload a handler gets. Lives in the type system only.
 *
 * `object` rather than a record: an interface, which is how one writes such a map, is no record.
 */
export type EventMap = object

/**
 * A map from a union of events that are told apart by their `type`, as many SDKs declare it:
 * `EventsByType<Stripe.Event>`. For senders whose payload has its type inside.
 */
export type EventsByType<Event extends { readonly type: string }> = {
  readonly [One in Event as One['type']]: One
}

/** For a source that says nothing of its types: any type, any payload. */
export type AnyEvents = Readonly<Record<string, unknown>>

/**
 * A configured sender. Made by a provider such as `stripe({ secrets })`, by `hmac` or `unsigned`, or written
 * by hand: two total functions, `verify` and `identify`, and how the sender is answered.
 */
export interface Source<Events extends EventMap = AnyEvents> {
  /** The kind of source: `stripe`, `github`, `hmac`, … */
  readonly provider: string
  /** Headers that verification or identification reads. More than one value of any is a 400. */
  readonly securityHeaders: readonly string[]
  /** Headers that show a secret as it is. What is stored has `[withheld]` there. */
  readonly secretHeaders?: readonly string[]
  /** What its secrets are called, and until when each verifies, so that the use of each can be listed. */
  readonly secretLabels?: readonly SecretLabel[]
  /** The labels of secrets whose keys have fewer than 16 bytes. The gateway does not start with one. */
  readonly shortSecrets?: readonly string[]
  /** Knows the probes of `hookonce doctor`, who has one of its secrets. Left out, every probe is refused. */
  readonly prober?: Prober
  readonly acknowledge: AcknowledgePolicy
  readonly redelivery: RedeliveryPolicy
  readonly sameBytes: SameBytesPolicy
  readonly success: SuccessAnswer
  /**
   * How a delivery that is not believed is answered.
   *
   * @defaultValue 401 with a JSON body
   */
  readonly refusal?: RefusalAnswer
  /**
   * The HTTP methods that are taken. Any other is a 405.
   *
   * @defaultValue ['POST']
   */
  readonly methods?: readonly string[]
  /**
   * The largest body that is read. A larger one is answered 413.
   *
   * @defaultValue `receive.bodyBytesMax`
   */
  readonly bodyBytesMax?: number
  /** How long the sender goes on retrying by itself; `null` when that is not known. */
  readonly retryWindowHours: number | null
  /**
   * For how long after that a person can have the sender deliver an event again, by a button or an API. Keys must be
   * kept for both together.
   *
   * @defaultValue 72
   */
  readonly manualRedeliveryHours?: number
  /** Things to say at boot, such as a short secret. Sentences without the secret in them. */
  readonly warnings: readonly string[]
  /** Over the raw bytes, at `delivery.receivedAt`. Total: any bytes in, a verdict out, never a throw. */
  verify(delivery: Delivery): Verdict | Promise<Verdict>
  /**
   * The answer to a sender that checks the endpoint: a challenge to echo, a token to compare. Nothing
   * is stored for it. Asked twice, before and after `verify`, because some senders sign their
   * handshake and some cannot: a signed one is answered at the second stage only. Total as well.
   */
  handshake?(delivery: Delivery, stage: HandshakeStage): HandshakeResult | Promise<HandshakeResult>
  /**
   * Called only after `verify` said yes, with what it said. Total as well: what cannot be read has no key. Past the
   * limit it need not look for more events.
   */
  identify(delivery: Delivery, verdict?: BelievedVerdict, limits?: IdentifyLimits): Identified
  /**
   * The body as it may be kept, for senders that show a secret in it. Called only after `verify` said yes.
   *
   * @defaultValue as it came
   */
  redactBody?(delivery: Delivery): Uint8Array
  /** What payloads must be, by event type: asked when the handlers run. Left out, nothing is checked. Made by `withSchemas`. */
  readonly schemas?: Readonly<Record<string, StandardSchema>>
  /** Never set. Carries the payload types from the source to the handlers. */
  readonly eventTypes?: Events
}

/** The answering options every source takes. */
export interface SourceOptions {
  /**
   * When to answer: as soon as the event is durable, or when its outcome is known.
   *
   * @defaultValue 'stored'
   */
  readonly acknowledge?: AcknowledgePolicy
  /**
   * What the redelivery of a dead event means.
   *
   * @defaultValue 'retry'
   */
  readonly redelivery?: RedeliveryPolicy
  /**
   * The status of a success.
   *
   * @defaultValue 200
   */
  readonly status?: 200 | 202 | 204
  /**
   * What to do with bytes that were seen before under another key.
   *
   * @defaultValue the provider's, see its page
   */
  readonly sameBytes?: SameBytesPolicy
  /**
   * The largest body that is read of this source. A larger one is answered 413.
   *
   * @defaultValue the provider's where it sends large ones, see its page, else `receive.bodyBytesMax`
   */
  readonly bodyBytesMax?: number
}
