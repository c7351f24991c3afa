/**
 * Clerk, delivered by Svix. Clerk's own helper reads the names `svix-…` only, and so does this.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { standardSignature } from '../schemes/standard-signature.ts'
import type { StandardOptions } from '../schemes/standard-signature.ts'

/**
 * Clerk's webhooks.
 *
 * An event is known by its `svix-id`: the body has the id of the user or organization, which is the same
 * in every event about it.
 */
export const clerk: Provider<ClerkOptions, ClerkEvents> = defineProvider({
  provider: 'clerk',
  verify: standardSignature({ names: ['svix'] }),
  key: 'header:svix-id',
  // Development and production are two instances.
  scope: 'json:$.instance_id',
  type: 'json:$.type',
  occurredAt: 'json:$.timestamp',
  // Milliseconds. What was deleted has none.
  version: 'json:$.data.updated_at',
  retryWindowHours: 27.6,
  timeoutSeconds: 15,
})

/** What an event of Clerk carries, as far as it is typed here. */
export interface ClerkPayload {
  readonly object: 'event'
  readonly type: string
  /** Milliseconds since 1970. */
  readonly timestamp?: number
  readonly instance_id?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly event_attributes?: Record<string, any>
}

/** The payloads of Clerk by event type. Give `clerk` a map of your own for exact ones. */
export type ClerkEvents = Readonly<Record<string, ClerkPayload>>

/** What `clerk` is configured with. */
export type ClerkOptions = StandardOptions
