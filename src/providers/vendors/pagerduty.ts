/**
 * PagerDuty, webhooks V3: `x-pagerduty-signature: v1=<hex>[,v1=<hex>]` over the body, one for each secret
 * while they are rotated.
 *
 * PagerDuty drops what is answered with a 4xx, and after three drops in a row stops the subscription for a
 * day and empties its queue. So give both secrets during a rotation.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * PagerDuty's webhooks.
 *
 * An event is known by `event.id`. Two subscriptions deliver one event under two `x-webhook-id`, which is
 * not signed either.
 */
export const pagerduty: Provider<PagerdutyOptions, PagerdutyEvents> = defineProvider({
  provider: 'pagerduty',
  verify: hmacSignature({
    signature: 'header:x-pagerduty-signature',
    list: { separator: ',' },
    prefix: 'v1=',
    algorithm: 'sha256',
    encoding: 'hex',
    signed: '{body}',
  }),
  key: 'json:$.event.id',
  type: 'json:$.event.event_type',
  occurredAt: 'json:$.event.occurred_at',
  // Accepted and not done yet, as it advises.
  success: { status: 202 },
  retryWindowHours: 48,
  timeoutSeconds: 5,
})

/** What an event of PagerDuty carries, as far as it is typed here. */
export interface PagerdutyPayload {
  readonly event: {
    readonly id: string
    /** `incident.triggered`, `service.updated`, `pagey.ping`, … */
    readonly event_type: string
    readonly resource_type: string
    /** ISO 8601. */
    readonly occurred_at: string
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly agent: Record<string, any> | null
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly client: Record<string, any> | null
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly data: Record<string, any>
  }
}

/** The payloads of PagerDuty by event type. Give `pagerduty` a map of your own for exact ones. */
export type PagerdutyEvents = Readonly<Record<string, PagerdutyPayload>>

/** What `pagerduty` is configured with. */
export type PagerdutyOptions = SecretOptions
