/**
 * Svix, which sends for many: Standard Webhooks under the names `svix-…`, or `webhook-…` for senders
 * that chose to be unbranded.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { findStandardHeader, standardSignature } from '../schemes/standard-signature.ts'
import type { StandardOptions } from '../schemes/standard-signature.ts'

const FAMILIES = { names: ['svix', 'webhook'] }

/** Any sender that delivers through Svix. An event is known by its `svix-id`, which is signed. */
export const svix: Provider<SvixOptions, SvixEvents> = defineProvider({
  provider: 'svix',
  verify: standardSignature(FAMILIES),
  // Of the family whose signature was checked: the id of the other family is not signed.
  key: ({ delivery }) => findStandardHeader(delivery, FAMILIES, 'id'),
  // The body is the sender's own; these are the names that most of them use.
  type: ['json:$.type', 'json:$.event_type', 'json:$.eventType'],
  occurredAt: ['json:$.timestamp', 'json:$.created_at'],
  // 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h after one another.
  retryWindowHours: 27.6,
  timeoutSeconds: 15,
})

/** The payload that Svix recommends to its senders. */
export interface SvixPayload {
  readonly type?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Svix by event type. Give `svix` a map of your own for exact ones. */
export type SvixEvents = Readonly<Record<string, SvixPayload>>

/** What `svix` is configured with. */
export type SvixOptions = StandardOptions
