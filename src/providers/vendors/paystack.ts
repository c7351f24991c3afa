/**
 * Paystack: `x-paystack-signature: <hex>`, HMAC-SHA-512 over the body. Its secret is the secret key of
 * the API, so a new key there is a new secret here.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Paystack's webhooks.
 *
 * There is no event id. A charge or transfer that succeeded and a transfer that was reversed are known
 * by the object's id, apart for live and test mode. Everything else may happen to one object more than
 * once (a transfer fails, is tried again and fails again; a dispute is reminded of) and is known by its
 * bytes.
 */
export const paystack: Provider<PaystackOptions, PaystackEvents> = defineProvider({
  provider: 'paystack',
  verify: hmacSignature({
    signature: 'header:x-paystack-signature',
    algorithm: 'sha512',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  key: [findFinalKey, 'body'],
  scope: 'json:$.data.domain',
  type: 'json:$.event',
  occurredAt: [
    'json:$.data.paid_at',
    'json:$.data.transferred_at',
    'json:$.data.updated_at',
    'json:$.data.created_at',
    'json:$.data.createdAt',
  ],
  retryWindowHours: 72,
  timeoutSeconds: 30,
})

/** What an event of Paystack carries, as far as it is typed here. */
export interface PaystackPayload {
  readonly event: string
  // An object, and for expiring cards a list.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any
}

/** The payloads of Paystack by event type. Give `paystack` a map of your own for exact ones. */
export type PaystackEvents = Readonly<Record<string, PaystackPayload>>

/** What `paystack` is configured with. */
export type PaystackOptions = SecretOptions

/** What an object goes through once. */
const FINAL_EVENTS = ['charge.success', 'transfer.success', 'transfer.reversed']

function findFinalKey({ json }: Reading): string | undefined {
  const event = json?.findText(['event']) ?? ''
  const id = json?.findText(['data', 'id']) ?? ''
  const status = json?.findText(['data', 'status']) ?? ''
  if (!FINAL_EVENTS.includes(event) || !/^\d+$/.test(id)) return undefined
  return `${event}|${id}|${status}`
}
