/**
 * Coinbase Commerce: `x-cc-webhook-signature: <hex>` over the body.
 *
 * The body is an envelope of the attempt, with an id and a counter of its own, around the event.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Coinbase Commerce's webhooks. An event is known by `event.id`; the `id` around it is the attempt's. */
export const coinbaseCommerce: Provider<CoinbaseCommerceOptions, CoinbaseCommerceEvents> =
  defineProvider({
    provider: 'coinbase_commerce',
    verify: hmacSignature({
      signature: 'header:x-cc-webhook-signature',
      algorithm: 'sha256',
      encoding: 'lower-hex',
      signed: '{body}',
    }),
    key: 'json:$.event.id',
    type: 'json:$.event.type',
    occurredAt: 'json:$.event.created_at',
    // `id`, `attempt_number` and `scheduled_for` around it are new in every attempt.
    content: '$.event',
    retryWindowHours: 72,
  })

/** What an event of Coinbase Commerce carries, as far as it is typed here. */
export interface CoinbaseCommercePayload {
  /** The attempt's, not the event's. */
  readonly id: string
  readonly attempt_number: number
  readonly scheduled_for: string
  readonly event: {
    readonly id: string
    readonly type: string
    /** ISO 8601. */
    readonly created_at: string
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly data: Record<string, any>
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
}

/** The payloads of Coinbase Commerce by event type. Give `coinbaseCommerce` a map of your own for exact ones. */
export type CoinbaseCommerceEvents = Readonly<Record<string, CoinbaseCommercePayload>>

/** What `coinbaseCommerce` is configured with. */
export type CoinbaseCommerceOptions = SecretOptions
