/**
 * Chargebee: basic authentication, and nothing signed. Where money hangs on an event, read it again
 * through the API.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { basicAuth } from '../schemes/shared-token.ts'
import type { BasicAuthOptions } from '../schemes/shared-token.ts'

/** Chargebee's webhooks. An event is known by its `id`. */
export const chargebee: Provider<ChargebeeOptions, ChargebeeEvents> = defineProvider({
  provider: 'chargebee',
  verify: basicAuth(),
  key: 'json:$.id',
  type: 'json:$.event_type',
  occurredAt: 'json:$.occurred_at',
  // `webhook_status` and its like say how the delivery goes, not what happened.
  volatile: ['$.webhook_status', '$.webhooks'],
  retryWindowHours: 78.6,
  timeoutSeconds: 60,
})

/** What an event of Chargebee carries, as far as it is typed here. */
export interface ChargebeePayload {
  readonly id: string
  readonly event_type: string
  /** Seconds since 1970. */
  readonly occurred_at: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly content: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Chargebee by event type. Give `chargebee` a map of your own for exact ones. */
export type ChargebeeEvents = Readonly<Record<string, ChargebeePayload>>

/** What `chargebee` is configured with. */
export type ChargebeeOptions = BasicAuthOptions
