/**
 * Calendly: `calendly-webhook-signature: t=<seconds>,v1=<hex>` over the time and the body.
 *
 * A subscription that was made without a signing key sends no signature, and is refused.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Calendly's webhooks.
 *
 * There is no event id. One is known by what happened to which invitee, no-show or submission
 * (`payload.uri`), and by when that was last changed.
 */
export const calendly: Provider<CalendlyOptions, CalendlyEvents> = defineProvider({
  provider: 'calendly',
  verify: hmacSignature({
    signature: 'header:calendly-webhook-signature',
    list: { separator: ',', timestamp: 't=' },
    prefix: 'v1=',
    algorithm: 'sha256',
    encoding: 'hex',
    // Three minutes in Calendly's own sample. That a retry has a fresh time is not documented; were it
    // not so, the sample would refuse every retry, and so would we.
    timestamp: { format: 'seconds', toleranceSeconds: 180 },
    signed: '{timestamp}.{body}',
  }),
  key: { all: ['json:$.event', 'json:$.payload.uri', { optional: 'json:$.payload.updated_at' }] },
  type: 'json:$.event',
  occurredAt: 'json:$.created_at',
  version: 'json:$.payload.updated_at',
  // Of the delivery and its subscription, not of what happened. Two subscriptions with one URL tell of
  // an event twice.
  volatile: ['$.created_at', '$.created_by'],
  retryWindowHours: 24,
  timeoutSeconds: null,
})

/** What an event of Calendly carries, as far as it is typed here. */
export interface CalendlyPayload {
  /** Such as `invitee.created`. */
  readonly event: string
  /** ISO 8601. */
  readonly created_at: string
  /** The URI of the user who made the subscription. */
  readonly created_by?: string
  readonly payload: {
    readonly uri: string
    /** ISO 8601. */
    readonly updated_at?: string
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
}

/** The payloads of Calendly by event type. Give `calendly` a map of your own for exact ones. */
export type CalendlyEvents = Readonly<Record<string, CalendlyPayload>>

/** What `calendly` is configured with. */
export type CalendlyOptions = SecretOptions
