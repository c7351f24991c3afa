/**
 * Linear: `linear-signature: <hex>` over the body, capitals refused, and the time in the signed body.
 *
 * Linear's own library takes a minute and no more, and so do we. Whether a retry, which comes after a
 * minute, an hour and six hours, has a fresh `webhookTimestamp` is not documented. Should yours be refused
 * as stale, raise `toleranceSeconds`.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { instantAt } from '../instant-at.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Linear's webhooks.
 *
 * An event is known by `linear-delivery`, which is not signed; its type is `type` and `action`, such as
 * `Issue.update`.
 */
export const linear: Provider<LinearOptions, LinearEvents> = defineProvider({
  provider: 'linear',
  verify: hmacSignature({
    signature: 'header:linear-signature',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    // Never the header `linear-timestamp`: it is not signed.
    timestamp: { at: 'json:$.webhookTimestamp', format: 'milliseconds', toleranceSeconds: 60 },
    signed: '{body}',
  }),
  // Not `webhookId`, which is the webhook's and the same in all of its deliveries.
  key: 'header:linear-delivery',
  scope: 'json:$.organizationId',
  type: { join: ['json:$.type', 'json:$.action'], with: '.' },
  occurredAt: 'json:$.createdAt',
  version: instantAt('json:$.data.updatedAt'),
  volatile: ['$.webhookTimestamp'],
  retryWindowHours: 7,
  timeoutSeconds: 5,
})

/** What an event of Linear carries, as far as it is typed here. */
export interface LinearPayload {
  /** What it is about: `Issue`, `Comment`, `Project`, … */
  readonly type: string
  /** `create`, `update`, `remove`, or what else may happen to it. */
  readonly action: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly organizationId: string
  /** Milliseconds since 1970. */
  readonly webhookTimestamp: number
  /** The webhook's id, not the event's. */
  readonly webhookId: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly updatedFrom?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Linear by event type. Give `linear` a map of your own for exact ones. */
export type LinearEvents = Readonly<Record<string, LinearPayload>>

/** What `linear` is configured with. */
export type LinearOptions = SecretOptions
