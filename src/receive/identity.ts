/**
 * From what a source says of an event to the hashes that decide whether it is known.
 *
 * Full SHA-256: a 64-bit cut would collide at some 2^32 events.
 *
 * @module
 */

import type { Delivery, DeliveryHeaders } from '../model/delivery.ts'
import { digestOf, digestOfParts } from '../model/digest.ts'
import type { EventDraft } from '../model/event.ts'
import type { IdentifiedEvent, Source } from '../model/source.ts'

export function draftEvent(
  { sourceName, source, delivery, secret }: DraftContext,
  identified: IdentifiedEvent,
): EventDraft {
  const { key, scope, type } = identified
  const body = identified.body ?? delivery.body
  const fingerprint = digestOf(identified.content ?? body)
  return {
    source: sourceName,
    key,
    type,
    keyHash:
      key === undefined
        ? // Without a key the content is all there is to know a redelivery by.
          digestOfParts('keyless', sourceName, fingerprint)
        : digestOfParts(
            'key',
            sourceName,
            scope === undefined ? 'unscoped' : 'scoped',
            scope ?? '',
            key,
          ),
    fingerprint,
    contentHash:
      source.sameBytes === 'run' || key === undefined
        ? undefined
        : digestOfParts('content', sourceName, fingerprint),
    sameBytes: source.sameBytes,
    redelivery: source.redelivery,
    body,
    headers: headersOf(identified, source, delivery),
    receivedAt: delivery.receivedAt,
    occurredAt: identified.occurredAt,
    secret,
  }
}

/** What shows a secret as it is, whoever the sender. */
const ALWAYS_WITHHELD: readonly string[] = ['authorization', 'proxy-authorization', 'cookie']

/** The headers as they are kept: nobody who reads the database learns a token that opens the door. */
function headersOf(
  { bodyType }: IdentifiedEvent,
  { secretHeaders = [] }: Source,
  { headers }: Delivery,
): DeliveryHeaders {
  const withheld = [...ALWAYS_WITHHELD, ...secretHeaders].filter((name) => name in headers)
  if (bodyType === undefined && withheld.length === 0) return headers
  return {
    ...headers,
    // A body that was cut out of a form is not a form, and a handler's payload is parsed by this header.
    ...(bodyType !== undefined && { 'content-type': bodyType }),
    ...Object.fromEntries(withheld.map((name) => [name, '[withheld]'])),
  }
}

export interface DraftContext {
  readonly sourceName: string
  readonly source: Source
  readonly delivery: Delivery
  /** The label of the secret that verified the delivery. */
  readonly secret: string
}
