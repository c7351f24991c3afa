/**
 * Square: HMAC over the notification URL and the body. The URL is the one of the subscription, byte for
 * byte, so it comes from the configuration. The older SHA-1 header is not read.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { ofJson } from '../schemes/of-json.ts'
import type { PublicUrlOptions } from '../schemes/public-url.ts'

/** Square's webhooks. An event is known by its `event_id`. */
export const square: Provider<SquareOptions, SquareEvents> = defineProvider({
  provider: 'square',
  verify: ofJson(
    hmacSignature({
      signature: 'header:x-square-hmacsha256-signature',
      algorithm: 'sha256',
      encoding: 'base64',
      signed: '{url}{body}',
    }),
  ),
  key: 'json:$.event_id',
  scope: 'json:$.merchant_id',
  type: 'json:$.type',
  occurredAt: 'json:$.created_at',
  retryWindowHours: 24,
})

/** What an event of Square carries, as far as it is typed here. */
export interface SquarePayload {
  readonly merchant_id: string
  readonly type: string
  readonly event_id: string
  readonly created_at: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: Record<string, any>
}

/** The payloads of Square by event type. Give `square` a map of your own for exact ones. */
export type SquareEvents = Readonly<Record<string, SquarePayload>>

/** What `square` is configured with. */
export type SquareOptions = SecretOptions & PublicUrlOptions
