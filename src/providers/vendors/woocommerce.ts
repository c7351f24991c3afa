/**
 * WooCommerce: `x-wc-webhook-signature: <base64>` over the body. The topic and the shop are in
 * unsigned headers.
 *
 * It never retries. Its delivery id is a hash of the webhook and the second: new for every attempt, and
 * shared by all deliveries of a webhook in one second. So it is no key; the body is.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import { asUtc } from '../occurred-at.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * WooCommerce's webhooks.
 *
 * An event is known by its shop, its topic and its body. Two changes within the second that
 * `date_modified_gmt` counts have two bodies, and are two events.
 */
export const woocommerce: Provider<WoocommerceOptions, WoocommerceEvents> = defineProvider({
  provider: 'woocommerce',
  verify: hmacSignature({
    signature: 'header:x-wc-webhook-signature',
    algorithm: 'sha256',
    encoding: 'base64',
    secretEncoding: decodeSecret,
    signed: '{body}',
  }),
  headers: ['x-wc-webhook-delivery-id'],
  handshake: {
    summary:
      'an unsigned POST with the form `webhook_id=<number>` when the webhook is saved; answered 200',
    when: 'form:webhook_id',
    answer: ({ delivery, find }) =>
      isPing(delivery) && find('header:x-wc-webhook-signature') === '' ? emptyAnswer() : undefined,
  },
  key: {
    all: [
      'header:x-wc-webhook-topic',
      { optional: 'json:$.id' },
      { optional: ({ delivery }) => findActionDelivery(delivery) },
      'body',
    ],
  },
  scope: 'header:x-wc-webhook-source',
  type: 'header:x-wc-webhook-topic',
  occurredAt: ({ json }) => asUtc(json?.findText(['date_modified_gmt'])),
  version: 'json:$.date_modified_gmt',
  // A failed delivery is not reported; after more than five in a row the webhook is switched off.
  retryWindowHours: 0,
  timeoutSeconds: 60,
})

/** The object as the shop's REST API gives it, or only its `id` after it was deleted. */
export interface WoocommercePayload {
  readonly id?: number
  /** ISO 8601, in UTC and without saying so. */
  readonly date_modified_gmt?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** Any topic, such as `order.updated`. */
export type WoocommerceEvents = Readonly<Record<string, WoocommercePayload>>

/** What `woocommerce` is configured with. */
export type WoocommerceOptions = SecretOptions

function isPing({ body }: Delivery): boolean {
  return body.byteLength < 40 && /^webhook_id=\d+$/.test(Buffer.from(body).toString('latin1'))
}

/**
 * An action's body is its name and one argument, and says nothing of when. Without the second in the
 * delivery id two of them would be one.
 */
function findActionDelivery(delivery: Delivery): string | undefined {
  const isAction = findHeader(delivery, 'x-wc-webhook-topic')?.startsWith('action.') === true
  return isAction ? findHeader(delivery, 'x-wc-webhook-delivery-id') : undefined
}

const ENTITY = /&(?:amp|lt|gt|quot|#0*(?:34|38|39|60|62)|#[xX]0*2[267]);/g

const CHARACTERS: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
}

/**
 * WordPress may keep a secret with its special characters as entities, and takes these back before it
 * signs. The same is done here, so that a secret is right as it was typed and as it is stored.
 */
function decodeSecret(text: string): Buffer {
  const plain = text.replace(ENTITY, (entity) => {
    const name = entity.slice(1, -1)
    if (!name.startsWith('#')) return CHARACTERS[name] ?? entity
    const digits = name.slice(1)
    const code = /^x/i.test(digits) ? parseInt(digits.slice(1), 16) : parseInt(digits, 10)
    return String.fromCharCode(code)
  })
  return Buffer.from(plain, 'utf8')
}
