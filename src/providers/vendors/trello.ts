/**
 * Trello: HMAC-SHA1 over the body and the callback URL. The URL is the one that the webhook was created
 * with, byte for byte and with its query, so it comes from the configuration.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import { instantAt } from '../instant-at.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { ofJson } from '../schemes/of-json.ts'
import type { PublicUrlOptions } from '../schemes/public-url.ts'

/**
 * Trello's webhooks.
 *
 * An event is known by `action.id` and the webhook it came by: an action is delivered once for each
 * webhook that watches something it touched, with another `model` each time.
 */
export const trello: Provider<TrelloOptions, TrelloEvents> = defineProvider({
  provider: 'trello',
  verify: ofJson(
    hmacSignature({
      signature: 'header:x-trello-webhook',
      algorithm: 'sha1',
      encoding: 'base64',
      signed: '{body}{url}',
    }),
  ),
  handshake: {
    summary: 'a HEAD at creation, which is not signed; answered 200',
    method: 'HEAD',
    answer: () => emptyAnswer(),
  },
  key: { all: [{ optional: ['json:$.webhook.id', 'json:$.model.id'] }, 'json:$.action.id'] },
  type: 'json:$.action.type',
  occurredAt: 'json:$.action.date',
  // Ids rise as well, but only from one second to the next.
  version: instantAt('json:$.action.date'),
  // What stands beside it is how the webhook fares (`consecutiveFailures`), and what was watched.
  content: '$.action',
  retryWindowHours: 0.1,
})

/** What an event of Trello carries, as far as it is typed here. */
export interface TrelloPayload {
  readonly action: {
    readonly id: string
    /** `createCard`, `updateCard`, `commentCard`, … */
    readonly type: string
    /** ISO 8601. */
    readonly date: string
    readonly idMemberCreator?: string
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly data: Record<string, any>
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
  /** What the webhook watches, as it is now. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly model: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly webhook?: Record<string, any>
}

/** The payloads of Trello by event type. Give `trello` a map of your own for exact ones. */
export type TrelloEvents = Readonly<Record<string, TrelloPayload>>

/** What `trello` is configured with. */
export type TrelloOptions = SecretOptions & PublicUrlOptions
