/**
 * Airtable: `x-airtable-content-mac: hmac-sha256=<hex>` over the body, with the base64-decoded
 * `macSecretBase64` as the key.
 *
 * A delivery is only a ping that names a base and a webhook. The changes are read from Airtable's API,
 * from the cursor you keep, until `mightHaveMore` is false; their `baseTransactionNumber` is the real
 * identity of a change.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Airtable's pings.
 *
 * There is no id. A ping is known by its base, its webhook and its time, which is part of the key so that
 * no two pings are taken for one: a ping too many reads nothing new, and one too few loses changes.
 */
export const airtable: Provider<AirtableOptions, AirtableEvents> = defineProvider({
  provider: 'airtable',
  verify: hmacSignature({
    signature: 'header:x-airtable-content-mac',
    prefix: 'hmac-sha256=',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    secretEncoding: 'base64',
    signed: '{body}',
  }),
  key: { all: ['json:$.base.id', 'json:$.webhook.id', 'json:$.timestamp'] },
  type: () => 'ping',
  occurredAt: 'json:$.timestamp',
  // Airtable asks for an empty answer.
  success: { body: 'empty' },
  retryWindowHours: 168,
  timeoutSeconds: 25,
})

/** What an event of Airtable carries, as far as it is typed here. */
export interface AirtablePayload {
  readonly base: { readonly id: string }
  readonly webhook: { readonly id: string }
  /** ISO 8601. */
  readonly timestamp: string
}

/** The payloads of Airtable by event type. Give `airtable` a map of your own for exact ones. */
export interface AirtableEvents {
  readonly ping: AirtablePayload
}

/** What `airtable` is configured with. */
export type AirtableOptions = SecretOptions
