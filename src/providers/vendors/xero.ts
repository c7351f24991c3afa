/**
 * Xero: `x-xero-signature: <base64>` over the body, with the webhook key as text. The key looks like
 * base64 and is not decoded.
 *
 * Xero takes an endpoint only after it has answered several empty requests, some of them wrongly signed
 * on purpose: 200 for the good, 401 for the bad, nothing in the body of either.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import { asUtc } from '../occurred-at.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Xero's webhooks. Every element of `events` is an event.
 *
 * None has an id. One is known by its tenant and resource, by what happened, and when to the
 * millisecond; all that it says is which resource to read again.
 */
export const xero: Provider<XeroOptions, XeroEvents> = defineProvider({
  provider: 'xero',
  verify: hmacSignature({
    signature: 'header:x-xero-signature',
    algorithm: 'sha256',
    encoding: 'base64',
    signed: '{body}',
  }),
  handshake: {
    summary:
      'intent to receive: POSTs without events, some wrongly signed; answered 200 or 401, with an empty body',
    when: ['json:$.lastEventSequence', '0'],
    signed: true,
    answer: ({ find }) => (find('json:$.events[0].resourceId') === '' ? emptyAnswer() : undefined),
  },
  batch: '$.events[*]',
  // The sequence is left out: whether a retry keeps its numbers is not documented, and they begin anew
  // with a new webhook.
  key: {
    all: ['json:$.resourceId', 'json:$.eventCategory', 'json:$.eventType', 'json:$.eventDateUtc'],
  },
  scope: 'json:$.tenantId',
  type: { join: ['json:$.eventCategory', 'json:$.eventType'], with: '.' },
  occurredAt: ({ json }) => asUtc(json?.findText(['eventDateUtc'])),
  sequence: findSequence,
  success: { status: 200, body: 'empty' },
  refusal: { status: 401, body: 'empty' },
  retryWindowHours: 24,
  timeoutSeconds: 5,
})

/** One element of `events`. The resource itself is read through the API. */
export interface XeroPayload {
  readonly resourceUrl: string
  readonly resourceId: string
  readonly tenantId: string
  readonly tenantType: string
  readonly eventCategory: string
  readonly eventType: string
  /** ISO 8601, in UTC and without saying so. */
  readonly eventDateUtc: string
}

/** Types are the category and what happened: `INVOICE.UPDATE`. */
export type XeroEvents = Readonly<Record<string, XeroPayload>>

/** What `xero` is configured with. */
export type XeroOptions = SecretOptions

/** The number of the first event and the place of this one. A gap shows that something is missing. */
function findSequence(reading: Reading): string | undefined {
  const first = reading.findRootText(['firstEventSequence'])
  return first !== undefined && /^\d{1,30}$/.test(first)
    ? String(BigInt(first) + BigInt(reading.index))
    : undefined
}
