/**
 * Flutterwave, v4 and v3.
 *
 * v4 signs the body: `flutterwave-signature: <base64>`, keyed with the secret hash. v3 signs nothing and
 * shows the secret hash itself in `verif-hash`. Some of Flutterwave's own samples show it in
 * `flutterwave-signature` too; that is refused, because a signature that never changes proves nothing
 * of the body.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { firstPresent } from '../schemes/first-present.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { sharedToken } from '../schemes/shared-token.ts'

/**
 * Flutterwave's webhooks.
 *
 * An event is known by its type, the id of its object and its status. Whether a retry keeps its
 * `webhook_id` is not documented, and v3 has none.
 */
export const flutterwave: Provider<FlutterwaveOptions, FlutterwaveEvents> = defineProvider({
  provider: 'flutterwave',
  verify: firstPresent([
    {
      when: 'flutterwave-signature',
      use: hmacSignature({
        signature: 'header:flutterwave-signature',
        algorithm: 'sha256',
        encoding: 'base64',
        signed: '{body}',
      }),
    },
    { when: 'verif-hash', use: sharedToken({ at: 'header:verif-hash' }) },
  ]),
  key: [
    { all: ['json:$.type', 'json:$.data.id', { optional: 'json:$.data.status' }] },
    { all: ['json:$.event', 'json:$.data.id', { optional: 'json:$.data.status' }] },
    // Debits of virtual cards and the payloads of older versions have other shapes.
    'body',
  ],
  // The older versions have a member with a dot in its name.
  type: ['json:$.type', 'json:$.event', ({ json }) => json?.findText(['event.type'])],
  occurredAt: ['json:$.timestamp', 'json:$.data.created_at'],
  volatile: ['$.webhook_id', '$.timestamp'],
  // Three tries, half an hour apart, and only where retries are turned on.
  retryWindowHours: 1.5,
  timeoutSeconds: 60,
})

/** What an event of Flutterwave carries, as far as it is typed here. */
export interface FlutterwavePayload {
  /** v4. */
  readonly type?: string
  /** v3. */
  readonly event?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Flutterwave by event type. Give `flutterwave` a map of your own for exact ones. */
export type FlutterwaveEvents = Readonly<Record<string, FlutterwavePayload>>

/** What `flutterwave` is configured with. */
export type FlutterwaveOptions = SecretOptions
