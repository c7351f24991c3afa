/**
 * Plaid: a JSON Web Token (ES256) whose claim `request_body_sha256` is the hash of the body. Its keys
 * are fetched by their id with your credentials (`/webhook_verification_key/get`).
 *
 * Plaid has no event id, and the same body may be a new event. Two deliveries are therefore one event
 * only when they are one and the same signed request; a retry that Plaid signs anew runs again. Its
 * events say that something changed and not what, so running twice is safe where losing one is not.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { findHeader } from '../../model/delivery.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { jwtSignature } from '../schemes/jwt-signature.ts'
import type { JwkOptions } from '../schemes/jwt-signature.ts'

/** Plaid's webhooks. Treat one as a hint to read the item again. */
export const plaid: Provider<PlaidOptions, PlaidEvents> = defineProvider({
  provider: 'plaid',
  verify: jwtSignature({
    header: 'plaid-verification',
    algorithm: 'ES256',
    bodyHashClaim: 'request_body_sha256',
    ageSecondsMax: 300,
  }),
  key: {
    all: [
      { optional: 'json:$.item_id' },
      { optional: 'json:$.webhook_code' },
      // The signature itself is left out: an ECDSA signature can be written in a second way without the key.
      ({ delivery }) => {
        const token = findHeader(delivery, 'plaid-verification')
        const signed = token?.slice(0, token.lastIndexOf('.'))
        return signed && createHash('sha256').update(signed).digest('hex')
      },
    ],
  },
  type: { join: ['json:$.webhook_type', 'json:$.webhook_code'], with: '.' },
  sameBytes: 'run',
  retryWindowHours: 24,
  // There is no button and no API for it.
  manualRedeliveryHours: 0,
})

/** What an event of Plaid carries, as far as it is typed here. */
export interface PlaidPayload {
  readonly webhook_type: string
  readonly webhook_code: string
  readonly item_id?: string
  readonly environment?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Plaid by event type. Give `plaid` a map of your own for exact ones. */
export type PlaidEvents = Readonly<Record<string, PlaidPayload>>

/** What `plaid` is configured with. */
export type PlaidOptions = JwkOptions
