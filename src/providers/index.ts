/** Ready-made sources, one file for each provider. */

export { github } from './github.ts'
export type { GithubEvents, GithubOptions, GithubPayload } from './github.ts'
export { hmac } from './hmac.ts'
export type { HmacOptions, HmacTimestampOptions } from './hmac.ts'
export { shopify } from './shopify.ts'
export type { ShopifyEvents, ShopifyOptions, ShopifyPayload } from './shopify.ts'
export { standardWebhooks } from './standard-webhooks.ts'
export type {
  StandardWebhooksEvents,
  StandardWebhooksOptions,
  StandardWebhooksPayload,
} from './standard-webhooks.ts'
export { stripe } from './stripe.ts'
export type { StripeEvents, StripeOptions, StripePayload } from './stripe.ts'
export { unsigned } from './unsigned.ts'
export type { UnsignedOptions } from './unsigned.ts'

export type { SecretOptions } from './define-source.ts'
export type { HmacAlgorithm } from '../verify/hmac.ts'
export type { SignatureEncoding } from '../verify/decode.ts'
export type { LabelledSecret, Secret } from '../verify/secrets.ts'
export type { TimestampFormat } from '../verify/timestamp.ts'
