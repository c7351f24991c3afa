/**
 * Recurly's JSON webhooks: `recurly-signature: <milliseconds>,<hex>[,<hex>…]` over the time and the
 * body, with one signature for each key that is active.
 *
 * Its XML webhooks have no signature, only a password, and are refused: set the endpoint to JSON.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Recurly's webhooks.
 *
 * There is no event id: `id` is the object's. An event is known by its object, what happened and when.
 */
export const recurly: Provider<RecurlyOptions, RecurlyEvents> = defineProvider({
  provider: 'recurly',
  verify: hmacSignature({
    signature: 'header:recurly-signature',
    list: { separator: ',', timestamp: 'first' },
    algorithm: 'sha256',
    // Recurly's Ruby library compares the text, so capitals are refused there as well.
    encoding: 'lower-hex',
    timestamp: { format: 'milliseconds', toleranceSeconds: 300 },
    // The key is the text of the secret; its hex is not decoded.
    signed: '{timestamp}.{body}',
  }),
  // The time has whole seconds. Two changes of one object in one second are one event, which loses
  // nothing: the body only says which object to read again.
  key: { all: ['json:$.object_type', 'json:$.id', 'json:$.event_type', 'json:$.event_time'] },
  scope: 'json:$.site_id',
  type: { join: ['json:$.object_type', 'json:$.event_type'], with: '.' },
  occurredAt: 'json:$.event_time',
  retryWindowHours: 72.9,
  timeoutSeconds: null,
})

/** Which object changed, and how. The object itself is read through the API. */
export interface RecurlyPayload {
  /** The object's id, not the event's. */
  readonly id: string
  readonly object_type: string
  readonly site_id: string
  readonly event_type: string
  /** ISO 8601. */
  readonly event_time: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** Types are the object and what happened: `subscription.created`. */
export type RecurlyEvents = Readonly<Record<string, RecurlyPayload>>

/** What `recurly` is configured with. */
export type RecurlyOptions = SecretOptions
