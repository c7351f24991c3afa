/**
 * Sentry's integration platform: `sentry-hook-signature: <hex>` over the body. The time in
 * `sentry-hook-timestamp` and the name of the resource are not signed.
 *
 * `request-id` looks like the event's id and is made for each attempt: its task, which is run again after
 * a time-out, draws it anew. So what can happen but once is known by what it happened to, which is signed.
 * For the rest (an issue may be resolved twice) `request-id` is all there is: a retry of such an event,
 * having the same bytes, is quarantined. Neither is it run twice, nor is the second resolving lost.
 *
 * @module
 */

import { compilePlace } from '../../body/place.ts'
import type { Place } from '../../body/place.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** What happens to a thing but once. */
const ONCE = compilePlace('sentry.key', [
  once('error', 'created', 'json:$.data.error.project', 'json:$.data.error.event_id'),
  once(
    'event_alert',
    'triggered',
    'json:$.data.event.project',
    'json:$.data.event.event_id',
    // One event may set off several rules.
    'json:$.data.triggered_rule',
  ),
  once('issue', 'created', 'json:$.data.issue.id'),
  once('comment', 'created', 'json:$.data.comment_id'),
  once('comment', 'deleted', 'json:$.data.comment_id'),
  once('installation', 'created', 'json:$.data.installation.uuid'),
  once('installation', 'deleted', 'json:$.data.installation.uuid'),
])

/** Sentry's webhooks. Their types are the resource and the action, such as `issue.created`. */
export const sentry: Provider<SentryOptions, SentryEvents> = defineProvider({
  provider: 'sentry',
  verify: hmacSignature({
    signature: 'header:sentry-hook-signature',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  key: [(reading) => ONCE.find(reading), 'header:request-id'],
  scope: 'json:$.installation.uuid',
  type: { join: ['header:sentry-hook-resource', 'json:$.action'], with: '.' },
  occurredAt: [
    'json:$.data.error.datetime',
    'json:$.data.event.datetime',
    'json:$.data.timestamp',
    // When it was sent.
    'header:sentry-hook-timestamp',
  ],
  // A retry may show the issue as it is by then, with other counts, and is the same event all the same.
  content: (reading) => {
    const key = ONCE.find(reading)
    return key === undefined ? undefined : Buffer.from(key, 'utf8')
  },
  // Three retries, five minutes apart, by the source of Sentry; its documents know of none.
  retryWindowHours: 0.25,
  timeoutSeconds: 1,
})

/** What an event of Sentry carries, as far as it is typed here. */
export interface SentryPayload {
  readonly action: string
  readonly installation: { readonly uuid: string }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
  readonly actor: {
    readonly type: string
    readonly id: string | number
    readonly name: string
  }
}

/** The payloads of Sentry by event type. Give `sentry` a map of your own for exact ones. */
export type SentryEvents = Readonly<Record<string, SentryPayload>>

/** What `sentry` is configured with. */
export type SentryOptions = SecretOptions

/** A key of what happens to a thing once: what it is, what happened, and which one it is. */
function once(kind: string, action: string, ...places: readonly string[]): Place {
  return {
    all: [
      ({ json }) => (json?.findValue(['action']) === action ? `${kind}.${action}` : undefined),
      ...places,
    ],
  }
}
