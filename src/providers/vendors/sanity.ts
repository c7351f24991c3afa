/**
 * Sanity's GROQ webhooks: `sanity-webhook-signature: t=<milliseconds>,v1=<base64url>` over the time and
 * the body.
 *
 * What identifies an event is in unsigned headers, and the body is what your projection makes of
 * the document. The same bytes under another key are therefore quarantined.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { withCheck } from '../schemes/with-check.ts'

/** Sanity's webhooks. An event is known by `idempotency-key`. */
export const sanity: Provider<SanityOptions, SanityEvents> = defineProvider({
  provider: 'sanity',
  verify: withCheck(
    hmacSignature({
      signature: 'header:sanity-webhook-signature',
      list: { separator: ',', timestamp: 't=' },
      prefix: 'v1=',
      algorithm: 'sha256',
      encoding: 'base64url',
      // Sanity's own library asks for no window. It retries for minutes, half an hour in former times, and
      // whether with a fresh time is not documented.
      timestamp: {
        format: 'milliseconds',
        toleranceSeconds: 3_600,
        aheadSeconds: 300,
        outside: 'quarantine',
      },
      signed: '{timestamp}.{body}',
    }),
    { check: findFault },
  ),
  // Chosen where the webhook is configured. All of them come with a body.
  methods: ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'],
  key: [
    'header:idempotency-key',
    // A deletion shows the revision that was there before it, so the operation is part of the key.
    { all: ['json:$._id', 'json:$._rev', { optional: 'header:sanity-operation' }] },
  ],
  scope: { all: ['header:sanity-project-id', { optional: 'header:sanity-dataset' }] },
  type: 'header:sanity-operation',
  occurredAt: 'header:sanity-transaction-time',
  retryWindowHours: 0.1,
  timeoutSeconds: 30,
})

/** What your projection makes of a document; without one, the document after the change. */
export interface SanityPayload {
  readonly _id?: string
  readonly _type?: string
  readonly _rev?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** `create`, `update`, `delete`. */
export type SanityEvents = Readonly<Record<string, SanityPayload>>

/** What `sanity` is configured with. */
export type SanityOptions = SecretOptions

const HEADER = /^t=([1-9]\d{12}),v1=[A-Za-z0-9_-]{43}$/
/** 2021: before it Sanity signed nothing, so what is earlier is seconds, or made up. */
const SIGNED_SINCE_MS = 1_609_459_200_000

/** As strict as Sanity's own library, which compares the whole header: one time, one signature, no padding. */
function findFault(delivery: Delivery): VerdictReason | undefined {
  const header = findHeader(delivery, 'sanity-webhook-signature')
  if (header === undefined) return 'missing-header'
  const time = HEADER.exec(header)?.[1]
  if (time === undefined) return 'malformed-header'
  if (Number(time) < SIGNED_SINCE_MS) return 'malformed-timestamp'
  return delivery.body.byteLength === 0 ? 'malformed-body' : undefined
}
