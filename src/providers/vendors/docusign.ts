/**
 * Docusign Connect: `x-docusign-signature-1: <base64>` over the body, and another numbered header for
 * each further key of the account. Any of them with any of our secrets will do.
 *
 * No time is signed apart from the body. Read are messages in JSON, the individual ones ("JSON SIM")
 * before all; XML is verified and has no key, so it is kept for a person.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** An account may have as many keys, and signs with all of them. */
const KEYS_MAX = 100

/**
 * Docusign Connect's messages.
 *
 * There is no event id. One is known by what happened to which envelope and recipient, when, and by the
 * configuration that tells us of it.
 */
export const docusign: Provider<DocusignOptions, DocusignEvents> = defineProvider({
  provider: 'docusign',
  verify: hmacSignature({
    signature: Array.from(
      { length: KEYS_MAX },
      (_, index) => `header:x-docusign-signature-${index + 1}`,
    ),
    signaturesMax: KEYS_MAX,
    algorithm: 'sha256',
    encoding: 'base64',
    signed: '{body}',
  }),
  key: [
    {
      all: [
        'json:$.event',
        // What is no envelope, such as a template, is named by its address.
        ['json:$.data.envelopeId', 'json:$.uri'],
        { optional: 'json:$.data.recipientId' },
        'json:$.generatedDateTime',
        { optional: 'json:$.configurationId' },
      ],
    },
    // The older aggregate: the envelope as it is now.
    { all: ['json:$.envelopeId', 'json:$.status', 'json:$.statusChangedDateTime'] },
  ],
  scope: 'json:$.data.accountId',
  type: ['json:$.event', findAggregateType],
  occurredAt: ['json:$.generatedDateTime', 'json:$.statusChangedDateTime'],
  volatile: ['$.retryCount'],
  retryWindowHours: 360,
  timeoutSeconds: 100,
})

/** A message in the format JSON SIM. */
export interface DocusignPayload {
  /** Such as `envelope-completed`. */
  readonly event: string
  readonly apiVersion?: string
  readonly uri?: string
  readonly retryCount?: number
  readonly configurationId?: number | string
  /** ISO 8601. */
  readonly generatedDateTime: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
}

/** The payloads of Docusign Connect by event type. Give `docusign` a map of your own for exact ones. */
export type DocusignEvents = Readonly<Record<string, DocusignPayload>>

/** What `docusign` is configured with. */
export type DocusignOptions = SecretOptions

/** By the name that an individual message of it would have. */
function findAggregateType({ json }: Reading): string | undefined {
  const status = json?.findText(['status'])
  return status === undefined ? undefined : `envelope-${status.toLowerCase()}`
}
