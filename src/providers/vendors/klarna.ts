/**
 * Klarna's notifications API: `klarna-signature: <hex>` over the body. Klarna's documents do not say
 * the encoding; its plugin for WooCommerce compares hex in lower case.
 *
 * `klarna-signing-key-id` names the key that signed. It is not signed itself and not read: every secret
 * is tried. The older products (Checkout, Order Management) push without any signature, and are refused.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Klarna's webhooks. An event is known by `metadata.event_id`, apart for live and test mode. */
export const klarna: Provider<KlarnaOptions, KlarnaEvents> = defineProvider({
  provider: 'klarna',
  verify: hmacSignature({
    signature: 'header:klarna-signature',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  // Some events repeat the metadata at the top.
  key: ['json:$.metadata.event_id', 'json:$.event_id'],
  scope: findMode,
  type: ['json:$.metadata.event_type', 'json:$.event_type'],
  occurredAt: ['json:$.metadata.occurred_at', 'json:$.occurred_at'],
  // Of the subscription and of the request: two subscriptions deliver one event.
  volatile: ['$.metadata.webhook_id', '$.metadata.correlation_id'],
  // It asks for a 400 where the signature does not hold.
  refusal: { status: 400, body: 'json' },
  // 10 s, 2 min, 15 min, 3 h, 6 h, 12 h: one after the other, if they are not counted from the start.
  retryWindowHours: 21.3,
})

/** What an event of Klarna carries, as far as it is typed here. */
export interface KlarnaPayload {
  readonly metadata: {
    readonly event_id: string
    readonly event_type: string
    readonly event_version: string
    /** ISO 8601. */
    readonly occurred_at: string
    readonly live: boolean
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly payload: Record<string, any>
}

/** The payloads of Klarna by event type. Give `klarna` a map of your own for exact ones. */
export type KlarnaEvents = Readonly<Record<string, KlarnaPayload>>

/** What `klarna` is configured with. */
export type KlarnaOptions = SecretOptions

function findMode({ json }: Reading): string | undefined {
  const live = json?.findValue(['metadata', 'live'])
  return live === true ? 'live' : live === false ? 'test' : undefined
}
