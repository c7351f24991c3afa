/**
 * GoCardless: `webhook-signature: <hex>` over the body. The header has the name that Standard Webhooks
 * gives it, and nothing else of that scheme.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * GoCardless's webhooks, of up to 250 events. An event is known by its `id`; its type is the resource
 * and what happened to it, such as `payments.confirmed`.
 */
export const gocardless: Provider<GocardlessOptions, GocardlessEvents> = defineProvider({
  provider: 'gocardless',
  verify: hmacSignature({
    signature: 'header:webhook-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    signed: '{body}',
  }),
  batch: '$.events[*]',
  key: 'json:$.id',
  // For partners, whose endpoint gets the events of many organisations.
  scope: 'json:$.links.organisation',
  type: { join: ['json:$.resource_type', 'json:$.action'], with: '.' },
  occurredAt: 'json:$.created_at',
  success: { status: 204, body: 'empty' },
  // "Token Invalid", as its documents ask for.
  refusal: { status: 498, body: 'empty' },
  // Up to eight tries at growing intervals, of which only the first three are documented.
  retryWindowHours: null,
  timeoutSeconds: 10,
})

/** One event of a webhook. */
export interface GocardlessPayload {
  readonly id: string
  /** ISO 8601. */
  readonly created_at: string
  readonly resource_type: string
  readonly action: string
  readonly links: Readonly<Record<string, string>>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly details?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of GoCardless by event type. Give `gocardless` a map of your own for exact ones. */
export type GocardlessEvents = Readonly<Record<string, GocardlessPayload>>

/** What `gocardless` is configured with. */
export type GocardlessOptions = SecretOptions
