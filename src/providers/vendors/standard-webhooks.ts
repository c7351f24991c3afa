/**
 * Standard Webhooks, by the names of the specification (`schemes/standard-signature.ts`).
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { standardSignature } from '../schemes/standard-signature.ts'
import type { StandardOptions } from '../schemes/standard-signature.ts'

/** Any sender that follows Standard Webhooks. An event is known by its `webhook-id`. */
export const standardWebhooks: Provider<StandardWebhooksOptions, StandardWebhooksEvents> =
  defineProvider({
    provider: 'standard_webhooks',
    verify: standardSignature({ names: ['webhook'] }),
    key: 'header:webhook-id',
    type: 'json:$.type',
    occurredAt: 'json:$.timestamp',
    // The sum of the schedule that the specification gives as its example.
    retryWindowHours: 75.6,
  })

/** The payload that the specification recommends. */
export interface StandardWebhooksPayload {
  readonly type: string
  /** ISO 8601. */
  readonly timestamp?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: any
}

/** The payloads of Standard Webhooks by event type. Give `standardWebhooks` a map of your own for exact ones. */
export type StandardWebhooksEvents = Readonly<Record<string, StandardWebhooksPayload>>

/** What `standardWebhooks` is configured with. */
export type StandardWebhooksOptions = StandardOptions
