/**
 * Typeform: `typeform-signature: sha256=<base64>` over the body. The prefix is GitHub's, the encoding is
 * not. No time is signed.
 *
 * A webhook without a secret sends no signature, and is refused.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Typeform's webhooks. An event is known by its `event_id`. */
export const typeform: Provider<TypeformOptions, TypeformEvents> = defineProvider({
  provider: 'typeform',
  verify: hmacSignature({
    signature: 'header:typeform-signature',
    prefix: 'sha256=',
    algorithm: 'sha256',
    encoding: 'base64',
    signed: '{body}',
  }),
  // Not `form_response.token`: partial responses repeat the token of the response they are a part of.
  key: 'json:$.event_id',
  type: 'json:$.event_type',
  occurredAt: 'json:$.form_response.submitted_at',
  retryWindowHours: 10,
  timeoutSeconds: 30,
})

/** What an event of Typeform carries, as far as it is typed here. */
export interface TypeformPayload {
  readonly event_id: string
  /** `form_response` or `form_response_partial`. */
  readonly event_type: string
  readonly form_response: {
    readonly form_id: string
    readonly token: string
    /** ISO 8601. */
    readonly submitted_at?: string
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
}

/** The payloads of Typeform by event type. Give `typeform` a map of your own for exact ones. */
export type TypeformEvents = Readonly<Record<string, TypeformPayload>>

/** What `typeform` is configured with. */
export type TypeformOptions = SecretOptions
