/**
 * Razorpay: `x-razorpay-signature: <hex>` over the body. No time is signed, and the event's id is in
 * an unsigned header.
 *
 * After a change of the secret, retries of older events keep the old one for up to a day: give both.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Razorpay's webhooks. An event is known by `x-razorpay-event-id` within its account. */
export const razorpay: Provider<RazorpayOptions, RazorpayEvents> = defineProvider({
  provider: 'razorpay',
  verify: hmacSignature({
    signature: 'header:x-razorpay-signature',
    algorithm: 'sha256',
    // Razorpay's own library compares the text, so capitals are refused there as well.
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  // `payload.payment.entity.id` is the payment's: it is the same in every event of that payment.
  key: 'header:x-razorpay-event-id',
  scope: 'json:$.account_id',
  type: 'json:$.event',
  occurredAt: 'json:$.created_at',
  retryWindowHours: 24,
  // Its dashboard sends events again that are up to seven days old.
  manualRedeliveryHours: 168,
  timeoutSeconds: 5,
})

/** What every Razorpay event has. */
export interface RazorpayPayload {
  readonly entity: 'event'
  readonly account_id: string
  /** Such as `payment.captured`. */
  readonly event: string
  /** The names of the members of `payload`. */
  readonly contains: readonly string[]
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly payload: Record<string, { readonly entity: Record<string, any> }>
  /** Seconds since 1970. */
  readonly created_at: number
}

/** The payloads of Razorpay by event type. Give `razorpay` a map of your own for exact ones. */
export type RazorpayEvents = Readonly<Record<string, RazorpayPayload>>

/** What `razorpay` is configured with. */
export type RazorpayOptions = SecretOptions
