/**
 * OpenAI: Standard Webhooks, with two liberties of its own library. A secret without `whsec_` is a key
 * as it stands, where Standard Webhooks would decode it; and a signature may come without `v1,`.
 *
 * @module
 */

import { decodeSecretText } from '../../verify/secrets.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { standardSignature } from '../schemes/standard-signature.ts'
import type { StandardOptions } from '../schemes/standard-signature.ts'

/**
 * OpenAI's webhooks.
 *
 * An event is known by its `webhook-id` (`wh_…`), which is signed and which OpenAI asks one to know
 * deliveries by. The `id` in the body (`evt_…`) is another: two endpoints get one `evt_…` under two `wh_…`.
 */
export const openai: Provider<OpenaiOptions, OpenaiEvents> = defineProvider({
  provider: 'openai',
  verify: standardSignature({
    names: ['webhook'],
    secretEncoding: decodeSecret,
    isVersionOptional: true,
  }),
  key: 'header:webhook-id',
  type: 'json:$.type',
  occurredAt: 'json:$.created_at',
  retryWindowHours: 72,
})

/** What an event of OpenAI carries, as far as it is typed here. */
export interface OpenaiPayload {
  readonly id: string
  readonly object: 'event'
  readonly type: string
  /** Seconds since 1970. */
  readonly created_at: number
  /** The id of what it is about, and little else: read the rest through the API. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
}

/** The payloads of OpenAI by event type. Give `openai` a map of your own for exact ones. */
export type OpenaiEvents = Readonly<Record<string, OpenaiPayload>>

/** What `openai` is configured with. */
export type OpenaiOptions = StandardOptions

function decodeSecret(text: string): Buffer | undefined {
  return decodeSecretText(text, text.startsWith('whsec_') ? 'whsec' : 'utf8')
}
