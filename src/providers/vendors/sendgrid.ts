/**
 * SendGrid's event webhook: ECDSA over the timestamp and the body, with nothing between. The body is a
 * list of up to a thousand events with CRLF after each, which the signature covers as well.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { ecdsaSignature } from '../schemes/public-key-signature.ts'
import type { PublicKeyOptions } from '../schemes/public-key-signature.ts'

/** SendGrid's event webhook. Every element of a delivery is an event, known by its `sg_event_id`. */
export const sendgrid: Provider<SendgridOptions, SendgridEvents> = defineProvider({
  provider: 'sendgrid',
  verify: ecdsaSignature({
    signature: 'header:x-twilio-email-event-webhook-signature',
    encoding: 'base64',
    form: 'der',
    // SendGrid's own library asks for no window. It retries for a day, and whether with a fresh time is not
    // documented.
    timestamp: {
      at: 'header:x-twilio-email-event-webhook-timestamp',
      format: 'seconds',
      toleranceSeconds: 86_400,
      aheadSeconds: 300,
      outside: 'quarantine',
    },
    signed: '{timestamp}{body}',
  }),
  batch: '$[*]',
  // Some events have no id of their own.
  key: [
    'json:$.sg_event_id',
    {
      all: ['json:$.sg_message_id', 'json:$.event', 'json:$.timestamp', { optional: 'json:$.url' }],
    },
  ],
  type: 'json:$.event',
  occurredAt: 'json:$.timestamp',
  retryWindowHours: 24,
})

/** What an event of Twilio SendGrid carries, as far as it is typed here. */
export interface SendgridPayload {
  readonly event: string
  readonly email: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly sg_event_id?: string
  readonly sg_message_id?: string
  // Categories, unique arguments and custom arguments stand beside these.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Twilio SendGrid by event type. Give `sendgrid` a map of your own for exact ones. */
export type SendgridEvents = Readonly<Record<string, SendgridPayload>>

/** What `sendgrid` is configured with. */
export type SendgridOptions = PublicKeyOptions
