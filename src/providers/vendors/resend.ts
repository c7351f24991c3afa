/**
 * Resend, delivered by Svix under the names `svix-…`.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { standardSignature } from '../schemes/standard-signature.ts'
import type { StandardOptions } from '../schemes/standard-signature.ts'

/**
 * Resend's webhooks.
 *
 * An event is known by its `svix-id`: `email_id` is that of the email, which has many events, and several
 * opens or clicks of the same type.
 */
export const resend: Provider<ResendOptions, ResendEvents> = defineProvider({
  provider: 'resend',
  verify: standardSignature({ names: ['svix'] }),
  key: 'header:svix-id',
  type: 'json:$.type',
  occurredAt: 'json:$.created_at',
  retryWindowHours: 27.6,
  timeoutSeconds: 15,
})

/** What an event of Resend carries, as far as it is typed here. */
export interface ResendPayload {
  readonly type: string
  /** ISO 8601. */
  readonly created_at: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
}

/** The payloads of Resend by event type. Give `resend` a map of your own for exact ones. */
export type ResendEvents = Readonly<Record<string, ResendPayload>>

/** What `resend` is configured with. */
export type ResendOptions = StandardOptions
