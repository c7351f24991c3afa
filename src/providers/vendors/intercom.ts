/**
 * Intercom: `x-hub-signature: sha1=<hex>` over the body, with the app's client secret. It has nothing
 * better than SHA-1, and signs no time.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Intercom's notifications. One is known by its `id` within its workspace. */
export const intercom: Provider<IntercomOptions, IntercomEvents> = defineProvider({
  provider: 'intercom',
  verify: hmacSignature({
    signature: 'header:x-hub-signature',
    prefix: 'sha1=',
    algorithm: 'sha1',
    encoding: 'hex',
    signed: '{body}',
  }),
  handshake: [
    {
      summary: 'a HEAD to see whether a server answers; answered 200',
      method: 'HEAD',
      answer: () => emptyAnswer(),
    },
    {
      summary: 'a signed POST with the topic `ping`; answered 200',
      when: ['json:$.topic', 'ping'],
      signed: true,
      answer: () => emptyAnswer(),
    },
  ],
  key: 'json:$.id',
  scope: 'json:$.app_id',
  type: 'json:$.topic',
  occurredAt: 'json:$.created_at',
  version: 'json:$.data.item.updated_at',
  // How the delivery goes, not what happened.
  volatile: ['$.delivery_status', '$.delivery_attempts', '$.delivered_at', '$.first_sent_at'],
  retryWindowHours: 0.5,
  timeoutSeconds: 5,
})

/** What an event of Intercom carries, as far as it is typed here. */
export interface IntercomPayload {
  readonly type: 'notification_event'
  readonly id: string
  readonly app_id: string
  /** Such as `conversation.user.created`. */
  readonly topic: string
  /** Seconds since 1970. */
  readonly created_at: number
  readonly data: {
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly item: Record<string, any>
  }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Intercom by event type. Give `intercom` a map of your own for exact ones. */
export type IntercomEvents = Readonly<Record<string, IntercomPayload>>

/** What `intercom` is configured with. */
export type IntercomOptions = SecretOptions
