/**
 * Deliveries signed as the provider would sign them, for tests of what comes after the door.
 *
 * The signing here shares no code with the verification it is meant to satisfy: were both one
 * function, a mistake in it would agree with itself.
 *
 * @module
 */

import { createHash, createHmac, randomUUID } from 'node:crypto'
import { OptionInvalidError, rejectUnknownKeys } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import { samplePayload } from './sample-payload.ts'
import { signHmacDelivery } from './sign-hmac-delivery.ts'
import type {
  SignedDeliveryOptions,
  SignedHmacDeliveryOptions,
  SignedProvider,
} from './signed-delivery-options.ts'

export function signedDelivery(kind: SignedProvider, options: SignedDeliveryOptions): Delivery
export function signedDelivery(kind: 'hmac', options: SignedHmacDeliveryOptions): Delivery
export function signedDelivery(
  kind: SignedProvider | 'hmac',
  options: SignedDeliveryOptions | SignedHmacDeliveryOptions,
): Delivery {
  if (kind === 'hmac') return signHmacDelivery(options as SignedHmacDeliveryOptions)
  rejectUnknownKeys('signedDelivery', options, ['secret', 'body', 'key', 'type', 'at', 'headers'])
  const sign = Object.hasOwn(SIGNERS, kind) ? SIGNERS[kind] : undefined
  if (sign === undefined) {
    const known = [...Object.keys(SIGNERS), 'hmac'].map((name) => `'${name}'`).join(', ')
    throw new OptionInvalidError('signedDelivery', `one of ${known}`, kind)
  }
  const { secret, at = new Date(), headers } = options as SignedDeliveryOptions
  const draft = draftDelivery(kind, options as SignedDeliveryOptions, at)
  const signed = sign(draft, { secret, seconds: String(Math.floor(at.getTime() / 1000)) })
  return {
    method: 'POST',
    url: '/',
    headers: { 'content-type': 'application/json', ...signed, ...headers },
    body: draft.body,
    receivedAt: at,
  }
}

interface Draft {
  readonly key: string
  readonly type: string
  readonly body: Buffer
  readonly at: Date
}

interface Signing {
  readonly secret: string
  readonly seconds: string
}

const DEFAULT_TYPES: Readonly<Record<SignedProvider, string>> = {
  stripe: 'invoice.paid',
  github: 'push',
  shopify: 'orders/paid',
  standardWebhooks: 'contact.created',
}

const SIGNERS: Readonly<
  Record<SignedProvider, (draft: Draft, signing: Signing) => Record<string, string>>
> = {
  stripe: ({ body }, { secret, seconds }) => ({
    'stripe-signature': `t=${seconds},v1=${hmacSha256(secret, Buffer.from(`${seconds}.`), body).toString('hex')}`,
  }),
  github: ({ body, key, type }, { secret }) => ({
    'x-hub-signature-256': `sha256=${hmacSha256(secret, body).toString('hex')}`,
    'x-github-delivery': key,
    'x-github-event': type,
  }),
  shopify: ({ body, key, type, at }, { secret }) => ({
    'x-shopify-hmac-sha256': hmacSha256(secret, body).toString('base64'),
    'x-shopify-event-id': key,
    'x-shopify-webhook-id': randomUUID(),
    'x-shopify-topic': type,
    'x-shopify-shop-domain': 'example.myshopify.com',
    'x-shopify-triggered-at': at.toISOString(),
  }),
  standardWebhooks: ({ body, key }, { secret, seconds }) => {
    const signingKey = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    const signature = hmacSha256(signingKey, Buffer.from(`${key}.${seconds}.`, 'latin1'), body)
    return {
      'webhook-id': key,
      'webhook-timestamp': seconds,
      'webhook-signature': `v1,${signature.toString('base64')}`,
    }
  },
}

function draftDelivery(kind: SignedProvider, options: SignedDeliveryOptions, at: Date): Draft {
  const { key = freshKey(kind), type = DEFAULT_TYPES[kind], body } = options
  if (typeof body === 'string') return { key, type, at, body: Buffer.from(body, 'utf8') }
  if (body instanceof Uint8Array) return { key, type, at, body: Buffer.from(body) }
  const payload =
    body === undefined ? samplePayload(kind, { key, type, at }) : placed(kind, body, options)
  return { key, type, at, body: Buffer.from(JSON.stringify(payload), 'utf8') }
}

/** The caller's object, with key and type where the provider has them in its body, if they were given. */
function placed(
  kind: SignedProvider,
  body: Readonly<Record<string, unknown>>,
  { key, type }: SignedDeliveryOptions,
): Readonly<Record<string, unknown>> {
  const placesKey = kind === 'stripe' && (key !== undefined || body['id'] === undefined)
  const placesType = kind === 'stripe' || kind === 'standardWebhooks'
  return {
    ...(placesType && { type: DEFAULT_TYPES[kind] }),
    ...body,
    ...(placesKey && { id: key ?? freshKey(kind) }),
    ...(placesType && type !== undefined && { type }),
  }
}

function freshKey(kind: SignedProvider): string {
  const id = createHash('sha256').update(randomUUID()).digest('hex').slice(0, 24)
  if (kind === 'stripe') return `evt_${id}`
  return kind === 'standardWebhooks' ? `msg_${id}` : randomUUID()
}

function hmacSha256(secret: string | Buffer, ...parts: readonly Uint8Array[]): Buffer {
  return createHmac('sha256', secret).update(Buffer.concat(parts)).digest()
}
