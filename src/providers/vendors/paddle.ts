/**
 * Paddle Billing: `paddle-signature: ts=<seconds>;h1=<hex>[;h1=<hex>]` over `<ts>:<body>`. Paddle
 * Classic (`p_signature` in a form) is another scheme, and is refused.
 *
 * While a secret is being changed there are several `h1`, and any of them may be ours. Paddle's library
 * for Node reads only the last.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Paddle's notifications. An event is known by its `event_id`, whichever destinations it was sent to. */
export const paddle: Provider<PaddleOptions, PaddleEvents> = defineProvider({
  provider: 'paddle',
  verify: hmacSignature({
    signature: 'header:paddle-signature',
    list: { separator: ';', timestamp: 'ts=' },
    prefix: 'h1=',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    // Paddle's library takes 5 s, and with a clock that is off by six it refuses all there is. What
    // comes again within a wider window is a known event.
    timestamp: { format: 'seconds', toleranceSeconds: 300 },
    // The whole `pdl_ntfset_…` is the key, as text.
    signed: '{timestamp}:{body}',
  }),
  key: 'json:$.event_id',
  type: 'json:$.event_type',
  occurredAt: 'json:$.occurred_at',
  version: 'json:$.data.updated_at',
  // One for each destination, and a new one when it is replayed.
  volatile: ['$.notification_id'],
  retryWindowHours: 72,
  timeoutSeconds: 5,
})

/** What an event of Paddle carries, as far as it is typed here. */
export interface PaddlePayload {
  readonly event_id: string
  readonly event_type: string
  /** ISO 8601. */
  readonly occurred_at: string
  readonly notification_id: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
}

/** The payloads of Paddle by event type. Give `paddle` a map of your own for exact ones. */
export type PaddleEvents = Readonly<Record<string, PaddlePayload>>

/** What `paddle` is configured with. */
export type PaddleOptions = SecretOptions
