/**
 * BigCommerce: Standard Webhooks, with the app's client secret as it is. The secret is text and no
 * base64, unlike in the specification.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { standardSignature } from '../schemes/standard-signature.ts'

/** BigCommerce's webhooks. An event is known by its `webhook-id` within its store. */
export const bigcommerce: Provider<BigcommerceOptions, BigcommerceEvents> = defineProvider({
  provider: 'bigcommerce',
  verify: {
    ...standardSignature({ names: ['webhook'], secretEncoding: 'utf8' }),
    // It signs with HMAC alone, so there is no public key to ask for.
    summary: 'Standard Webhooks: HMAC-SHA-256 in base64 (`v1`)',
    optionNames: ['secrets', 'toleranceSeconds'],
  },
  key: ['header:webhook-id', 'json:$.hash'],
  scope: ['json:$.store_id', 'json:$.producer'],
  type: 'json:$.scope',
  occurredAt: 'json:$.created_at',
  // A hook that fires twice for one event sends the same `hash`, and so the same body; whether under one
  // `webhook-id` is not documented. Equal bodies are therefore one event.
  sameBytes: 'duplicate',
  content: findContent,
  // Bodies in an answer may disturb the acknowledgement, its documents say.
  success: { body: 'empty' },
  retryWindowHours: 48,
  // There is no button and no API for it.
  manualRedeliveryHours: 0,
  timeoutSeconds: null,
})

/** Which object changed. The object itself is read through the API. */
export interface BigcommercePayload {
  /** Such as `store/order/updated`. */
  readonly scope: string
  readonly store_id: string
  readonly producer: string
  readonly hash: string
  /** Seconds since 1970. */
  readonly created_at?: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
}

/** The payloads of BigCommerce by event type. Give `bigcommerce` a map of your own for exact ones. */
export type BigcommerceEvents = Readonly<Record<string, BigcommercePayload>>

/** What `bigcommerce` is configured with. */
export type BigcommerceOptions = SecretOptions

/**
 * Some bodies in its documents have no time. Two changes of one object would then have one body, and the
 * second would be lost as a duplicate of the first, so these are told apart by their ids.
 */
function findContent({ delivery, json }: Reading): Uint8Array | undefined {
  if (json?.findText(['created_at']) !== undefined) return undefined
  const id = findHeader(delivery, 'webhook-id') ?? ''
  return Buffer.concat([Buffer.from(`${id}\n`, 'latin1'), delivery.body])
}
