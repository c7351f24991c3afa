/**
 * LINE Messaging API: `x-line-signature: <base64>` over the body, which is a list of events and may be
 * empty: the console's “Verify” sends such a list, and any success will do.
 *
 * A redelivery has the same `webhookEventId` and says `isRedelivery: true`, so the body and its signature
 * change. No time is signed: what keeps a captured request from running again is the key.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** LINE's webhooks. Every element of a delivery is an event, known by its `webhookEventId`. */
export const line: Provider<LineOptions, LineEvents> = defineProvider({
  provider: 'line',
  verify: hmacSignature({
    signature: 'header:x-line-signature',
    algorithm: 'sha256',
    encoding: 'base64',
    // The channel secret looks like hex, and is used as the text it is.
    signed: '{body}',
  }),
  batch: '$.events[*]',
  key: 'json:$.webhookEventId',
  // The bot that it was sent to.
  scope: 'root:$.destination',
  type: 'json:$.type',
  occurredAt: 'json:$.timestamp',
  volatile: ['$.deliveryContext.isRedelivery'],
  // LINE tells neither how often nor for how long it redelivers.
  retryWindowHours: null,
  timeoutSeconds: 2,
})

/** One element of `events`. */
export interface LinePayload {
  readonly type: string
  readonly webhookEventId: string
  /** Milliseconds since 1970. */
  readonly timestamp: number
  /** `standby` for an event that another channel of the account answers. */
  readonly mode: string
  readonly replyToken?: string
  readonly deliveryContext: { readonly isRedelivery: boolean }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly source?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of LINE Messaging API by event type. Give `line` a map of your own for exact ones. */
export type LineEvents = Readonly<Record<string, LinePayload>>

/** What `line` is configured with. */
export type LineOptions = SecretOptions
