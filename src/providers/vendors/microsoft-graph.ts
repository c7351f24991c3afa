/**
 * Microsoft Graph's change notifications. Nothing is signed: each notification shows the `clientState` of
 * its subscription, and each is compared, because one request mixes subscriptions.
 *
 * Notifications with resource data also come with `validationTokens`: tokens of Entra ID that say that
 * Graph sends to your app. They do not cover the body, and are good for a day. The resource is encrypted
 * with your certificate, which is public, so its `dataSignature` shows no more than that it is whole:
 * decrypting is left to the handler.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { textAnswer } from '../handshake.ts'
import { graphVerification } from './microsoft-graph-verification.ts'
import type { GraphTokenOptions } from './microsoft-graph-verification.ts'
import type { JwksOptions } from '../schemes/jwk-judge.ts'
import type { TokenOptions } from '../schemes/shared-token.ts'
import type { Reading } from '../../body/json-path.ts'

/**
 * Microsoft Graph's change and lifecycle notifications.
 *
 * A notification is known by its `id`, where it has one, or by what changed and its etag. Some have
 * neither (presence, lifecycle notifications): two of them may be equal, so each arrival is an event.
 */
export const microsoftGraph: Provider<MicrosoftGraphOptions, MicrosoftGraphEvents> = defineProvider(
  {
    provider: 'microsoft_graph',
    verify: graphVerification(),
    options: {
      appIds: {
        kind: 'texts',
        summary:
          'the ids of your apps: needed for notifications with resource data, which are refused without it',
      },
      tenantIds: {
        kind: 'texts',
        summary: 'the tenants that such notifications may come from; left out, any',
      },
    },
    handshake: {
      summary:
        'a POST with `validationToken`, for both URLs of a subscription; answered 200 with the token as plain text',
      when: 'query:validationToken',
      answer: ({ find }) => textAnswer(find('query:validationToken')),
    },
    batch: '$.value[*]',
    key: [
      {
        all: ['json:$.subscriptionId', 'json:$.id', { optional: findKind }, { optional: findEtag }],
      },
      { all: ['json:$.subscriptionId', findKind, 'json:$.resource', findEtag] },
      // Made with a key of its own for every notification.
      {
        all: [
          'json:$.subscriptionId',
          findKind,
          'json:$.resource',
          'json:$.encryptedContent.dataSignature',
        ],
      },
      {
        all: [
          'json:$.subscriptionId',
          findKind,
          { optional: 'json:$.resource' },
          ({ delivery }) => String(delivery.receivedAt.getTime()),
        ],
      },
    ],
    scope: 'json:$.tenantId',
    type: findKind,
    // Renewing the subscription moves it.
    volatile: ['$.subscriptionExpirationDateTime'],
    unstored: ['$.clientState'],
    success: { status: 202 },
    retryWindowHours: 4,
    // Ten for a retry. Of slow endpoints Graph drops notifications for good.
    timeoutSeconds: 3,
  },
)

/** One notification. */
export interface MicrosoftGraphPayload {
  readonly id?: string
  readonly subscriptionId: string
  readonly subscriptionExpirationDateTime: string
  readonly clientState: string
  readonly tenantId?: string
  readonly changeType?: string
  readonly lifecycleEvent?: string
  readonly resource?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly resourceData?: Record<string, any> | null
  readonly encryptedContent?: {
    readonly data: string
    readonly dataKey: string
    readonly dataSignature: string
    readonly encryptionCertificateId: string
    readonly encryptionCertificateThumbprint: string
  }
}

/** `created`, `updated`, `deleted`, `missed`, `subscriptionRemoved`, `reauthorizationRequired`. */
export type MicrosoftGraphEvents = Readonly<Record<string, MicrosoftGraphPayload>>

/** `secrets` are the values of `clientState`: several for several subscriptions. */
export type MicrosoftGraphOptions = TokenOptions & JwksOptions & GraphTokenOptions

function findKind({ json }: Reading): string | undefined {
  return json?.findText(['changeType']) ?? json?.findText(['lifecycleEvent'])
}

function findEtag({ json }: Reading): string | undefined {
  return json?.findText(['resourceData', '@odata.etag'])
}
