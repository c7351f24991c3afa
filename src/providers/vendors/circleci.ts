/**
 * CircleCI: `circleci-signature: v1=<hex>[,v2=…]` over the body.
 *
 * The list is of versions and not of secrets. Only `v1` is known; should CircleCI make another, the
 * older one must not be believed any longer, and this file has to change.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** CircleCI's outbound webhooks. An event is known by its `id`. */
export const circleci: Provider<CircleciOptions, CircleciEvents> = defineProvider({
  provider: 'circleci',
  verify: hmacSignature({
    signature: 'header:circleci-signature',
    list: { separator: ',' },
    prefix: 'v1=',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  key: 'json:$.id',
  scope: 'json:$.organization.id',
  // Not the header `circleci-event-type`, which is not signed.
  type: 'json:$.type',
  occurredAt: 'json:$.happened_at',
  // "At a later time" is all that its documents say.
  retryWindowHours: null,
  timeoutSeconds: 10,
})

/** What an event of CircleCI carries, as far as it is typed here. */
export interface CircleciPayload {
  readonly id: string
  /** `workflow-completed`, `job-completed`, or `ping` for a test. */
  readonly type: string
  /** ISO 8601. */
  readonly happened_at: string
  readonly webhook?: { readonly id: string; readonly name: string }
  readonly project?: { readonly id: string; readonly name: string; readonly slug: string }
  readonly organization?: { readonly id: string; readonly name: string }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly workflow?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly pipeline?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly job?: Record<string, any>
}

/** The payloads of CircleCI by event type. Give `circleci` a map of your own for exact ones. */
export type CircleciEvents = Readonly<Record<string, CircleciPayload>>

/** What `circleci` is configured with. */
export type CircleciOptions = SecretOptions
