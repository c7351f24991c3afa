/**
 * HubSpot, in three versions of its signature. It sends the newest beside an older one, and the newest
 * that is there decides alone: with a wrong `v3` a right `v1` does not help.
 *
 *     v3   x-hubspot-signature-v3, x-hubspot-request-timestamp
 *          HMAC over the method, the URL, the body and the time, in base64
 *     v2   x-hubspot-signature, x-hubspot-signature-version: v2
 *          SHA-256 of the secret, the method, the URL and the body, in hex
 *     v1   x-hubspot-signature, x-hubspot-signature-version: v1
 *          SHA-256 of the secret and the body, in hex
 *
 * The older ones are weak: no time is signed, and a hash that begins with the secret is no HMAC. What can
 * be made of one without the secret is refused by its form.
 *
 * @module
 */

import { isUtf8 } from 'node:buffer'
import { findHeader } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import type { Reading } from '../../body/json-path.ts'
import type { SignedPart } from '../../verify/signed-template.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { firstPresent } from '../schemes/first-present.ts'
import { hashSignature, hmacSignature } from '../schemes/hmac-signature.ts'
import { ofJson } from '../schemes/of-json.ts'
import type { PublicUrlOptions } from '../schemes/public-url.ts'
import type { Verification } from '../schemes/verification.ts'

/**
 * HubSpot's webhooks. Every element of a delivery is an event.
 *
 * Its `eventId` is not unique, HubSpot says. So an event is known by its portal, its subscription and
 * its `eventId`, and by what it happened to and when.
 */
export const hubspot: Provider<HubspotOptions, HubspotEvents> = defineProvider({
  provider: 'hubspot',
  verify: ofJson(
    firstPresent([
      {
        when: 'x-hubspot-signature-v3',
        use: orWithDecodedUrl(
          hmacSignature({
            signature: 'header:x-hubspot-signature-v3',
            algorithm: 'sha256',
            encoding: 'base64',
            timestamp: {
              at: 'header:x-hubspot-request-timestamp',
              format: 'milliseconds',
              toleranceSeconds: 300,
            },
            signed: '{method}{url}{body}{timestamp}',
          }),
        ),
      },
      {
        when: 'x-hubspot-signature',
        use: hashSignature({
          signature: 'header:x-hubspot-signature',
          algorithm: 'sha256',
          // HubSpot's own library compares the text, so capitals are refused there as well.
          encoding: 'lower-hex',
          signed: renderOlder,
          signedHeaders: ['x-hubspot-signature-version'],
          usesPublicUrl: true,
        }),
      },
    ]),
  ),
  batch: '$[*]',
  key: {
    all: [
      'json:$.subscriptionId',
      'json:$.eventId',
      { optional: 'json:$.occurredAt' },
      { optional: 'json:$.objectId' },
      { optional: 'json:$.propertyName' },
      // An association has two objects, and none in `objectId`.
      { optional: 'json:$.fromObjectId' },
      { optional: 'json:$.toObjectId' },
      { optional: 'json:$.messageId' },
    ],
  },
  scope: 'json:$.portalId',
  type: 'json:$.subscriptionType',
  occurredAt: 'json:$.occurredAt',
  volatile: ['$.attemptNumber'],
  retryWindowHours: 24,
  timeoutSeconds: 5,
})

/** One element of a delivery. */
export interface HubspotPayload {
  readonly eventId: number
  readonly subscriptionId: number
  readonly portalId: number
  readonly appId?: number
  /** Milliseconds since 1970. */
  readonly occurredAt: number
  /** Such as `contact.propertyChange`. */
  readonly subscriptionType: string
  readonly attemptNumber?: number
  readonly objectId?: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of HubSpot by event type. Give `hubspot` a map of your own for exact ones. */
export type HubspotEvents = Readonly<Record<string, HubspotPayload>>

/** What `hubspot` is configured with. */
export type HubspotOptions = SecretOptions & PublicUrlOptions

/** What HubSpot decodes in a URL before it signs it with `v3`, its documents say; its libraries do not. */
const DECODED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi

/** The URL as it was given, or with what HubSpot decodes in it. Most have nothing of the kind. */
function orWithDecodedUrl(verification: Verification): Verification {
  return {
    ...verification,
    build(context) {
      const built = verification.build(context)
      const given = context.options['publicUrl'] as string
      const publicUrl = given.replace(DECODED, (escape) => decodeURIComponent(escape))
      if (publicUrl === given) return built
      const other = verification.build({ ...context, options: { ...context.options, publicUrl } })
      return {
        ...built,
        async verify(delivery) {
          const verdict = await built.verify(delivery)
          return verdict.ok ? verdict : other.verify(delivery)
        },
      }
    },
  }
}

/**
 * A person who saw a hash that begins with the secret can go on with it: there is a right hash for the body,
 * the padding of SHA-256 and whatever he likes, without the secret. The padding begins with a byte that
 * is no UTF-8 there, and HubSpot sends nothing else.
 */
function isExtended(body: Uint8Array): boolean {
  return !isUtf8(body)
}

/**
 * How the text begins that `v2` signs. As the body of a `v1` it would have the same hash: a person who saw a
 * `v2` could make a `v1` of it that was never sent. No body of HubSpot's begins so.
 */
const METHOD_AND_URL = /^[A-Z]{3,7}https?:/

function renderOlder(
  { delivery }: Reading,
  { publicUrl }: { readonly publicUrl: string },
): readonly SignedPart[] | VerdictReason {
  const { method, body } = delivery
  if (isExtended(body)) return 'malformed-body'
  switch (findHeader(delivery, 'x-hubspot-signature-version') ?? 'v1') {
    case 'v1': {
      const start = Buffer.from(body.subarray(0, 16)).toString('latin1')
      return METHOD_AND_URL.test(start) ? 'malformed-body' : [body]
    }
    case 'v2':
      return [Buffer.from(method + publicUrl, 'utf8'), body]
    default:
      return 'malformed-header'
  }
}
