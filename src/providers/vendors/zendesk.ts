/**
 * Zendesk: `x-zendesk-webhook-signature: <base64>` over the timestamp and the body, with nothing between.
 *
 * There are two kinds of webhooks. Those that are subscribed to events have a fixed body with an id in it.
 * Those of triggers and automations have the body that their author wrote, where `id` may be a ticket's: they
 * are known by the invocation, which is in an unsigned header.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Published, so that a webhook can be tried out before it exists. Every reader of Zendesk's documents has it. */
const TEST_SECRET = 'dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=='

/**
 * Zendesk's webhooks.
 *
 * An event of a subscription is known by its `id`, a trigger's request by its invocation id.
 */
export const zendesk: Provider<ZendeskOptions, ZendeskEvents> = defineProvider({
  provider: 'zendesk',
  verify: hmacSignature({
    signature: 'header:x-zendesk-webhook-signature',
    algorithm: 'sha256',
    encoding: 'base64',
    // Whether a retry is signed anew is not documented. Its retries are over within half an hour.
    timestamp: {
      at: 'header:x-zendesk-webhook-signature-timestamp',
      format: 'iso',
      toleranceSeconds: 1800,
      aheadSeconds: 300,
    },
    // The secret looks like base64, and is used as the text it is.
    signed: '{timestamp}{body}',
  }),
  // A trigger may be told to use GET or DELETE, which have no body and nothing to run on.
  methods: ['POST', 'PUT', 'PATCH'],
  key: [findEventId, 'header:x-zendesk-webhook-invocation-id'],
  scope: 'json:$.account_id',
  type: 'json:$.type',
  occurredAt: 'json:$.time',
  version: 'json:$.detail.updated_at',
  retryWindowHours: 0.5,
  timeoutSeconds: 10,
  warnings: ({ secrets }) =>
    [secrets].flat().some((secret) => valueOf(secret) === TEST_SECRET)
      ? [
          'zendesk has the published secret for tests: every reader of Zendesk’s documents can sign with it.',
        ]
      : [],
})

/** What events of subscriptions have. The body of a trigger is yours. */
export interface ZendeskPayload {
  readonly type?: string
  readonly id?: string
  readonly account_id?: number
  /** ISO 8601. */
  readonly time?: string
  readonly subject?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly detail?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly event?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Zendesk by event type. Give `zendesk` a map of your own for exact ones. */
export type ZendeskEvents = Readonly<Record<string, ZendeskPayload>>

/** What `zendesk` is configured with. */
export type ZendeskOptions = SecretOptions

function findEventId({ json }: Reading): string | undefined {
  const isEvent =
    json?.findText(['type'])?.startsWith('zen:event-type:') === true &&
    json.findText(['zendesk_event_version']) !== undefined
  return isEvent ? json.findText(['id']) : undefined
}

function valueOf(secret: unknown): unknown {
  return typeof secret === 'object' && secret !== null && 'value' in secret ? secret.value : secret
}
