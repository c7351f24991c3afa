/**
 * Stripe: `stripe-signature: t=<seconds>,v1=<hex>[,v1=<hex>][,v0=<hex>]`.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Stripe's webhooks.
 *
 * An event is known by its `id`, apart for live and test mode and for each connected account.
 */
export const stripe: Provider<StripeOptions, StripeEvents> = defineProvider({
  provider: 'stripe',
  verify: hmacSignature({
    signature: 'header:stripe-signature',
    list: { separator: ',', timestamp: 't=' },
    prefix: 'v1=',
    algorithm: 'sha256',
    encoding: 'hex',
    timestamp: { format: 'seconds', toleranceSeconds: 300 },
    // The whole `whsec_…` is the key, as text.
    signed: '{timestamp}.{body}',
  }),
  key: 'json:$.id',
  scope: findScope,
  type: 'json:$.type',
  occurredAt: 'json:$.created',
  // Counts the endpoints that have not answered yet, so it changes from one retry to the next.
  // `api_version`, `request` and `data` are set when the event is made and stay.
  volatile: ['$.pending_webhooks'],
  retryWindowHours: 72,
  // Its command sends an event again for 30 days after it was made; its dashboard for 15.
  manualRedeliveryHours: 648,
})

/** What every Stripe event has. For the exact types of Stripe's own package: `stripe<StripeEventMap>`, from `hookonce/types/stripe`. */
export interface StripePayload {
  readonly id: string
  readonly object: string
  readonly type: string
  /** Seconds since 1970. */
  readonly created: number
  readonly livemode: boolean
  /** The connected account, for events of Connect. */
  readonly account?: string
  readonly api_version?: string | null
  readonly pending_webhooks?: number
  readonly request?: { readonly id: string | null; readonly idempotency_key: string | null } | null
  readonly data: {
    // The objects have hundreds of shapes; `any` lets a handler read them without a cast.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly object: Record<string, any>
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly previous_attributes?: Record<string, any>
  }
}

/** Any event type, with the payload every Stripe event has. */
export type StripeEvents = Readonly<Record<string, StripePayload>>

/** What `stripe` is configured with. */
export type StripeOptions = SecretOptions

/** The mode comes first and has no space in it, so no two pairs of mode and account read the same. */
function findScope({ json }: Reading): string | undefined {
  if (json === undefined) return undefined
  const livemode = json.findValue(['livemode'])
  const mode = livemode === true ? 'live' : livemode === false ? 'test' : 'unknown'
  // Thin events name the account as their context.
  const account = json.findText(['account']) ?? json.findText(['context'])
  return account === undefined ? mode : `${mode} ${account}`
}
