/**
 * Lemon Squeezy: `x-signature: <hex>` over the body. The header `x-event-name` is not signed and not
 * read; the body has the name as well.
 *
 * Its retries end after less than three minutes. What fails longer must be sent again by hand.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** What names the endpoint and not the event, and links whose signatures expire. */
const VOLATILE = [
  ['meta', 'webhook_id'],
  ['data', 'attributes', 'urls'],
]

/**
 * Lemon Squeezy's webhooks.
 *
 * There is no event id, and `updated_at` counts whole seconds, in which a subscription may change
 * twice. An event is known by its name, its object, and the hash of what it says.
 */
export const lemonsqueezy: Provider<LemonsqueezyOptions, LemonsqueezyEvents> = defineProvider({
  provider: 'lemonsqueezy',
  verify: hmacSignature({
    signature: 'header:x-signature',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  key: { all: ['json:$.meta.event_name', 'json:$.data.type', 'json:$.data.id', hashContent] },
  type: 'json:$.meta.event_name',
  occurredAt: ['json:$.data.attributes.updated_at', 'json:$.data.attributes.created_at'],
  version: 'json:$.data.attributes.updated_at',
  volatile: VOLATILE.map((path) => ['$', ...path].join('.')),
  retryWindowHours: 0.05,
})

/** What an event of Lemon Squeezy carries, as far as it is typed here. */
export interface LemonsqueezyPayload {
  readonly meta: {
    readonly event_name: string
    readonly test_mode?: boolean
    /** What you gave to the checkout. */
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly custom_data?: Record<string, any>
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
  readonly data: {
    readonly type: string
    readonly id: string
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly attributes: Record<string, any>
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
}

/** The payloads of Lemon Squeezy by event type. Give `lemonsqueezy` a map of your own for exact ones. */
export type LemonsqueezyEvents = Readonly<Record<string, LemonsqueezyPayload>>

/** What `lemonsqueezy` is configured with. */
export type LemonsqueezyOptions = SecretOptions

function hashContent({ json, bytes }: Reading): string {
  const content = json?.findBytesWithout(VOLATILE) ?? bytes
  return createHash('sha256').update(content).digest('hex')
}
