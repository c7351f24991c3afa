/**
 * PayPal: RSA over `<transmission id>|<time>|<webhook id>|<CRC-32 of the body>`, with a certificate from
 * PayPal's API.
 *
 * A CRC-32 is no hash: a person with one signed request can write another body with the same CRC. So the
 * signature proves who spoke and to whom, and that the body arrived as it was sent rests on TLS. A
 * transmission that was seen with one body is a conflict with another, and after three days it is
 * quarantined. Where money hangs on an event, read it again through the API.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { rsaSignature } from '../schemes/rsa-signature.ts'
import type { CertificateOptions } from '../schemes/rsa-signature.ts'

const ALGORITHM_HEADER = 'paypal-auth-algo'

/** What the webhooks simulator signs with, to whatever URL it is told. */
const SIMULATOR_WEBHOOK_ID = 'WEBHOOK_ID'

/** PayPal's REST webhooks. An event is known by its `id`, which a resent one keeps. */
export const paypal: Provider<PaypalOptions, PaypalEvents> = defineProvider({
  provider: 'paypal',
  verify: rsaSignature({
    signature: 'header:paypal-transmission-sig',
    encoding: 'base64',
    // PayPal's old library takes SHA1withRSA as well; it is too weak to let the request choose it.
    digest: ({ delivery }) =>
      findHeader(delivery, ALGORITHM_HEADER) === 'SHA256withRSA' ? 'sha256' : undefined,
    certificate: {
      url: 'header:paypal-cert-url',
      host: /^api(?:-m)?(?:\.sandbox)?\.paypal\.com$/,
      path: /^\/v1\/notifications\/certs\/CERT-[A-Za-z0-9-]+$/,
      subject: /\.paypal\.com$/i,
      issuers: /^cacerts\.digicert\.com$/,
    },
    // It retries for three days, its documents say, and not whether a retry has a time of its own.
    timestamp: {
      at: 'header:paypal-transmission-time',
      format: 'iso',
      toleranceSeconds: 259_200,
      aheadSeconds: 300,
      outside: 'quarantine',
    },
    signed: '{header:paypal-transmission-id}|{timestamp}|{option:webhookId}|{crc32}',
  }),
  options: {
    webhookId: {
      kind: 'text',
      isRequired: true,
      summary: 'the id of your webhook, which is signed: that of another webhook is refused',
    },
  },
  headers: [ALGORITHM_HEADER],
  key: 'json:$.id',
  // With it one captured request is good for one body: another with the same CRC is a conflict.
  deliveryKey: 'header:paypal-transmission-id',
  type: 'json:$.event_type',
  occurredAt: 'json:$.create_time',
  version: 'json:$.resource.update_time',
  retryWindowHours: 72,
  warnings: ({ webhookId }) =>
    webhookId === SIMULATOR_WEBHOOK_ID
      ? [
          'paypal has the webhook id of PayPal’s simulator: every user of the simulator can make events. Use the id of your own webhook.',
        ]
      : [],
})

/** What an event of PayPal carries, as far as it is typed here. */
export interface PaypalPayload {
  readonly id: string
  readonly event_type: string
  /** ISO 8601. */
  readonly create_time: string
  readonly resource_type: string
  readonly summary?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly resource: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of PayPal by event type. Give `paypal` a map of your own for exact ones. */
export type PaypalEvents = Readonly<Record<string, PaypalPayload>>

/** What `paypal` is configured with. */
export interface PaypalOptions extends CertificateOptions {
  /** The id of your webhook, from the developer dashboard. */
  readonly webhookId: string
}
