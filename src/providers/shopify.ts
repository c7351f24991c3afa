/**
 * Shopify: `x-shopify-hmac-sha256: <base64>` over the body. Its newer Events deliveries have the
 * same headers without the `x-`.
 *
 * @module
 */

import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventMap, Identified, Source, VerdictReason } from '../model/source.ts'
import type { Claim } from '../verify/verify-delivery.ts'
import { defineHmacSource } from './define-source.ts'
import type { HmacProvider, SecretOptions } from './define-source.ts'
import { occurredAt } from './occurred-at.ts'
import { UNKNOWN_TYPE } from './unknown-type.ts'

const HEADERS = [
  'hmac-sha256',
  'event-id',
  'webhook-id',
  'topic',
  'action',
  'shop-domain',
  'triggered-at',
] as const

const SHOPIFY: HmacProvider = {
  provider: 'shopify',
  securityHeaders: HEADERS.flatMap((name) => [`x-shopify-${name}`, `shopify-${name}`]),
  algorithm: 'sha256',
  encoding: 'base64',
  secretEncoding: 'utf8',
  timestamp: undefined,
  signed: '{body}',
  retryWindowHours: 4,
  // All that identifies an event is in headers that nobody signs.
  sameBytes: 'quarantine',
  readClaim,
  identify,
}

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

export type ShopifyOptions = SecretOptions

/**
 * Shopify's webhooks.
 *
 * An event is known by its event id within its shop and topic: two subscriptions to one topic
 * deliver one event twice, each delivery under a webhook id of its own.
 */
export function shopify<Events extends EventMap = ShopifyEvents>(
  options: ShopifyOptions,
): Source<Events> {
  return defineHmacSource<Events>(SHOPIFY, options)
}

function readClaim(delivery: Delivery): Claim | VerdictReason {
  const signature = findShopifyHeader(delivery, 'hmac-sha256')
  return signature === undefined ? 'missing-header' : { signatures: [signature] }
}

function identify(delivery: Delivery): Identified {
  const shop = findShopifyHeader(delivery, 'shop-domain')
  const topic = findShopifyHeader(delivery, 'topic')
  const action = findShopifyHeader(delivery, 'action')
  const type = topic === undefined || action === undefined ? topic : `${topic}/${action}`
  return [
    {
      key: findShopifyHeader(delivery, 'event-id') ?? findShopifyHeader(delivery, 'webhook-id'),
      // Quoted, so that no two pairs of shop and topic read the same.
      scope: JSON.stringify([shop ?? null, type ?? null]),
      type: type ?? UNKNOWN_TYPE,
      ...occurredAt(findShopifyHeader(delivery, 'triggered-at')),
    },
  ]
}

/** All of one delivery's headers are read from the family its signature belongs to. */
function findShopifyHeader(delivery: Delivery, name: (typeof HEADERS)[number]): string | undefined {
  const isOlder = findHeader(delivery, 'x-shopify-hmac-sha256') !== undefined
  return findHeader(delivery, isOlder ? `x-shopify-${name}` : `shopify-${name}`) || undefined
}
