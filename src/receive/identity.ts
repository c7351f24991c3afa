/**
 * From what a source says of an event to the hashes that decide whether it is known.
 *
 * Full SHA-256: a 64-bit cut would collide at some 2^32 events.
 *
 * @module
 */

import type { Delivery, DeliveryHeaders } from '../model/delivery.ts'
import { digestOf, digestOfParts, keyDigestOf } from '../model/digest.ts'
import type { Digest } from '../model/digest.ts'
import type { EventDraft } from '../model/event.ts'
import { findOrderText } from '../model/order-text.ts'
import type { BelievedVerdict, Identified, IdentifiedEvent, Source } from '../model/source.ts'

/** A draft of each event of a delivery. What they share is made once. */
export function draftEvents(context: DraftContext, events: Identified): readonly EventDraft[] {
  const { source, delivery } = context
  const request = source.redactBody?.(delivery) ?? delivery.body
  const headersOf = keepHeaders(source, delivery)
  return events.map((identified) =>
    draftEvent(context, { request, headers: headersOf(identified) }, identified),
  )
}

/** What is kept of a delivery. */
interface Kept {
  readonly request: Uint8Array
  readonly headers: DeliveryHeaders
}

function draftEvent(
  { sourceName, source, delivery, verdict }: DraftContext,
  { request, headers }: Kept,
  identified: IdentifiedEvent,
): EventDraft {
  const { key, scope, type, deliveryKey } = identified
  const isLate = key !== undefined && verdict.quarantine !== undefined
  const body = identified.body ?? request
  const fingerprint = digestOf(identified.content ?? body)
  return {
    source: sourceName,
    key,
    type,
    keyHash:
      key === undefined
        ? // Without a key the content is all there is to know a redelivery by.
          digestOfParts('keyless', sourceName, fingerprint)
        : keyDigestOf(sourceName, scope, key),
    fingerprint,
    contentHash: findContentHash(sourceName, identified, fingerprint, {
      // What is late leaves its bytes free, as its key, for the same event within the window.
      watchesBytes: source.sameBytes !== 'run' && !isLate,
    }),
    // A delivery that the sender signed once is watched, whatever the source does with equal bytes.
    sameBytes:
      deliveryKey !== undefined && source.sameBytes === 'run' ? 'quarantine' : source.sameBytes,
    // An old request that was captured shall not wake the dead.
    redelivery: isLate ? 'count' : source.redelivery,
    quarantine: identified.quarantine ?? (key === undefined ? 'no key' : verdict.quarantine),
    body,
    request: isSame(body, request) ? undefined : request,
    headers,
    receivedAt: delivery.receivedAt,
    occurredAt: identified.occurredAt,
    version: findOrderText(identified.version),
    sequence: findOrderText(identified.sequence),
    verifiedBy: verdict.secret,
  }
}

/** What may be seen once beside the key, where anything is watched. */
function findContentHash(
  sourceName: string,
  { key, deliveryKey }: IdentifiedEvent,
  fingerprint: Digest,
  { watchesBytes }: { readonly watchesBytes: boolean },
): Digest | undefined {
  if (key === undefined) return undefined
  if (deliveryKey !== undefined) return digestOfParts('delivery', sourceName, deliveryKey)
  return watchesBytes ? digestOfParts('content', sourceName, fingerprint) : undefined
}

/** Headers that show a secret as it is, for every sender. */
const ALWAYS_WITHHELD: readonly string[] = ['authorization', 'proxy-authorization', 'cookie']

/**
 * The headers as they are kept: a reader of the database learns no token that a request is believed by. Equal
 * ones are one object.
 */
function keepHeaders(
  { secretHeaders = [] }: Source,
  { headers }: Delivery,
): (identified: IdentifiedEvent) => DeliveryHeaders {
  const withheld = [...ALWAYS_WITHHELD, ...secretHeaders].filter((name) => name in headers)
  const own =
    withheld.length === 0
      ? headers
      : { ...headers, ...Object.fromEntries(withheld.map((name) => [name, '[withheld]'])) }
  const byType = new Map<string | undefined, DeliveryHeaders>([[undefined, own]])
  return ({ bodyType }) => {
    // A body that was cut out of a form is not a form, and a handler's payload is parsed by this header.
    const kept = byType.get(bodyType) ?? { ...own, 'content-type': bodyType ?? '' }
    byType.set(bodyType, kept)
    return kept
  }
}

/** Whether an event's body is the request's. Of parts that are shorter no byte is looked at. */
function isSame(body: Uint8Array, request: Uint8Array): boolean {
  return (
    body === request ||
    (body.byteLength === request.byteLength && Buffer.compare(body, request) === 0)
  )
}

export interface DraftContext {
  readonly sourceName: string
  readonly source: Source
  readonly delivery: Delivery
  /** What `verify` said of the delivery. */
  readonly verdict: BelievedVerdict
}
