/**
 * Ably's batched webhooks: `x-ably-signature: <base64>` over the body, with the secret part of an API key.
 * The name of that key is in `x-ably-key`, which need not be read: every secret is tried.
 *
 * Only batched requests are signed. Single ones have no signature and are refused, as is MessagePack,
 * whose items could not be told apart: a batch that is sent again may have newer items behind the old ones.
 *
 * @module
 */

import { JsonBody } from '../../body/json-body.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { ofJson } from '../schemes/of-json.ts'

/** Ably's batched webhooks. Every item is an event, known by its serial within its channel and rule. */
export const ably: Provider<AblyOptions, AblyEvents> = defineProvider({
  provider: 'ably',
  verify: ofJson(
    hmacSignature({
      signature: 'header:x-ably-signature',
      algorithm: 'sha256',
      encoding: 'base64',
      secretEncoding: decodeKey,
      signed: '{body}',
    }),
    isBatch,
  ),
  batch: '$.items[*]',
  key: [
    { all: ['json:$.serial', 'json:$.name', { optional: 'json:$.data.channelId' }] },
    {
      all: [
        'json:$.name',
        'json:$.data.channelId',
        ['json:$.data.messages[0].id', 'json:$.data.presence[0].id'],
      ],
    },
  ],
  scope: 'json:$.webhookId',
  type: 'json:$.name',
  occurredAt: 'json:$.timestamp',
  // Events that cannot be delivered within five minutes are discarded.
  retryWindowHours: 0.1,
})

/** One of `items`. */
export interface AblyPayload {
  readonly webhookId: string
  readonly source: string
  readonly name: string
  readonly serial?: string
  /** Milliseconds since 1970. */
  readonly timestamp: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
}

/** The payloads of Ably by event type. Give `ably` a map of your own for exact ones. */
export type AblyEvents = Readonly<Record<string, AblyPayload>>

/** What `ably` is configured with. */
export type AblyOptions = SecretOptions

/** A whole key (`app.key:secret`) or its secret alone: it is the secret that signs. */
function decodeKey(text: string): Buffer {
  return Buffer.from(text.replace(/^[\w-]+\.[\w-]+:/, ''), 'utf8')
}

/** A batch as it was sent: with a list of items, and not written as MessagePack. */
function isBatch(body: Uint8Array): boolean {
  return Array.isArray(JsonBody.find(body)?.findValue(['items']))
}
