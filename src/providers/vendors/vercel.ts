/**
 * Vercel: `x-vercel-signature: <hex>`, HMAC-SHA1 over the body. No time is signed beside the one in the
 * body, which says when it happened and not when it was sent.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Vercel's webhooks, of accounts and of integrations. An event is known by its `id`. */
export const vercel: Provider<VercelOptions, VercelEvents> = defineProvider({
  provider: 'vercel',
  verify: hmacSignature({
    signature: 'header:x-vercel-signature',
    algorithm: 'sha1',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  key: 'json:$.id',
  scope: ['json:$.payload.team.id', 'json:$.payload.user.id'],
  type: 'json:$.type',
  occurredAt: 'json:$.createdAt',
  retryWindowHours: 24,
  timeoutSeconds: 30,
})

/** What an event of Vercel carries, as far as it is typed here. */
export interface VercelPayload {
  readonly id: string
  /** `deployment.succeeded`, `project.created`, … */
  readonly type: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly region?: string | null
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly payload: Record<string, any>
}

/** The payloads of Vercel by event type. Give `vercel` a map of your own for exact ones. */
export type VercelEvents = Readonly<Record<string, VercelPayload>>

/** What `vercel` is configured with. */
export type VercelOptions = SecretOptions
