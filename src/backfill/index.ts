/**
 * Clients that ask senders what they have sent, for `inbox.backfill`.
 *
 * @module
 */

export type {
  BackfillClient,
  BackfillDelivery,
  BackfillEvent,
  BackfillPage,
  BackfillRequest,
} from './backfill-client.ts'
export { BackfillStoppedError } from './call-api.ts'
export type { ApiOptions } from './call-api.ts'
export { githubDeliveries } from './github-deliveries.ts'
export type { GithubDeliveriesOptions } from './github-deliveries.ts'
export { shopifyResources } from './shopify-resources.ts'
export type { ShopifyResourcesOptions } from './shopify-resources.ts'
export { stripeEvents } from './stripe-events.ts'
export type { StripeEventsOptions } from './stripe-events.ts'
