/**
 * Shopify: `x-shopify-hmac-sha256: <base64>` over the body. Its newer Events deliveries have the
 * same headers without the `x-`.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { firstPresent } from '../schemes/first-present.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

const HEADERS = [
  'hmac-sha256',
  'event-id',
  'webhook-id',
  'topic',
  'action',
  'shop-domain',
  'triggered-at',
] as const

/**
 * Shopify's webhooks.
 *
 * An event is known by its event id within its shop and topic: two subscriptions to one topic
 * deliver one event twice, each delivery under a webhook id of its own.
 */
export const shopify: Provider<ShopifyOptions, ShopifyEvents> = defineProvider({
  provider: 'shopify',
  verify: firstPresent(
    ['x-shopify-hmac-sha256', 'shopify-hmac-sha256'].map((header) => ({
      when: header,
      use: hmacSignature({
        signature: `header:${header}`,
        algorithm: 'sha256',
        encoding: 'base64',
        signed: '{body}',
      }),
    })),
  ),
  headers: HEADERS.flatMap((name) => [`x-shopify-${name}`, `shopify-${name}`]),
  key: ({ delivery }) =>
    findShopifyHeader(delivery, 'event-id') ?? findShopifyHeader(delivery, 'webhook-id'),
  // Quoted, so that no two pairs of shop and topic read the same.
  scope: ({ delivery }) =>
    JSON.stringify([
      findShopifyHeader(delivery, 'shop-domain') ?? null,
      findType(delivery) ?? null,
    ]),
  type: ({ delivery }) => findType(delivery),
  occurredAt: ({ delivery }) => findShopifyHeader(delivery, 'triggered-at'),
  // All that identifies an event is in unsigned headers.
  sameBytes: 'quarantine',
  retryWindowHours: 4,
  // There is no button and no API for it.
  manualRedeliveryHours: 0,
})

/** A Shopify resource. The shapes differ by topic; for exact types, give `shopify` a map of them. */
export interface ShopifyPayload {
  // Order ids are past what a JavaScript number holds exactly; `admin_graphql_api_id` is text.
  readonly id?: number
  readonly admin_graphql_api_id?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** Any topic (`orders/paid`, …), with what Shopify's payloads have in common. */
export type ShopifyEvents = Readonly<Record<string, ShopifyPayload>>

/** What `shopify` is configured with. */
export type ShopifyOptions = SecretOptions

function findType(delivery: Delivery): string | undefined {
  const topic = findShopifyHeader(delivery, 'topic')
  const action = findShopifyHeader(delivery, 'action')
  return topic === undefined || action === undefined ? topic : `${topic}/${action}`
}

/**
 * All of one delivery's headers are read from the family its signature belongs to. What a back-fill takes in has no
 * signature, and the older names.
 */
function findShopifyHeader(delivery: Delivery, name: (typeof HEADERS)[number]): string | undefined {
  const has = (header: string): boolean => findHeader(delivery, header) !== undefined
  const isNewer = has('shopify-hmac-sha256') && !has('x-shopify-hmac-sha256')
  return findHeader(delivery, isNewer ? `shopify-${name}` : `x-shopify-${name}`) || undefined
}
