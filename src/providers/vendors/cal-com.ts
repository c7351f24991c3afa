/**
 * Cal.com: `x-cal-signature-256: <hex>` over the body.
 *
 * A webhook without a secret sends the text `no-secret-provided` in place of a signature. That is no
 * digest and never verifies.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Cal.com's webhooks.
 *
 * There is no event id. One is known by its trigger, its booking and its time; what is about no booking
 * by the hash of its payload. A custom template that leaves these out leaves an event without a key.
 */
export const calCom: Provider<CalComOptions, CalComEvents> = defineProvider({
  provider: 'cal_com',
  verify: hmacSignature({
    signature: 'header:x-cal-signature-256',
    algorithm: 'sha256',
    encoding: 'hex',
    signed: '{body}',
  }),
  key: {
    all: [
      'json:$.triggerEvent',
      [
        'json:$.payload.uid',
        'json:$.payload.bookingUid',
        // The start and the end of a meeting come from a scheduler, with the booking's own members on top.
        'json:$.uid',
        findPayloadHash,
      ],
      'json:$.createdAt',
    ],
  },
  type: 'json:$.triggerEvent',
  occurredAt: 'json:$.createdAt',
  version: 'json:$.payload.iCalSequence',
  // One attempt, whatever the answer.
  retryWindowHours: 0,
  timeoutSeconds: null,
})

/** What an event of Cal.com carries, as far as it is typed here. */
export interface CalComPayload {
  /** Such as `BOOKING_CREATED`. */
  readonly triggerEvent: string
  /** ISO 8601. */
  readonly createdAt: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly payload: Record<string, any>
}

/** The payloads of Cal.com by event type. Give `calCom` a map of your own for exact ones. */
export type CalComEvents = Readonly<Record<string, CalComPayload>>

/** What `calCom` is configured with. */
export type CalComOptions = SecretOptions

function findPayloadHash({ json }: Reading): string | undefined {
  const payload = json?.listSlices(['payload'])[0]
  return payload && `payload_${createHash('sha256').update(payload).digest('hex')}`
}
