/**
 * GitHub: `x-hub-signature-256: sha256=<hex>` over the body, be it JSON or a form.
 *
 * The older `x-hub-signature` with SHA-1 is not read: GitHub sends both.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * GitHub's webhooks.
 *
 * An event is known by `x-github-delivery`; its type is `x-github-event`, such as `pull_request`,
 * and what happened is in `payload.action`. Neither header is signed.
 */
export const github: Provider<GithubOptions, GithubEvents> = defineProvider({
  provider: 'github',
  verify: hmacSignature({
    signature: 'header:x-hub-signature-256',
    prefix: 'sha256=',
    algorithm: 'sha256',
    encoding: 'hex',
    signed: '{body}',
  }),
  key: 'header:x-github-delivery',
  type: 'header:x-github-event',
  // "Payloads are capped at 25 MB." After a 413 GitHub does not come again.
  bodyBytesMax: 26_214_400,
  // It never retries by itself; people redeliver, under the same id.
  retryWindowHours: 0,
  // By its pages or its API: for three days on github.com, for seven on an Enterprise Server.
  manualRedeliveryHours: 168,
})

/** What GitHub's events have in common. For exact types: `github<GithubEventMap>`, from `hookonce/types/github`. */
export interface GithubPayload {
  readonly action?: string
  // The shapes differ from event to event; `any` lets a handler read them without a cast.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly repository?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly organization?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly sender?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** Any event name (`push`, `pull_request`, …), with what GitHub's payloads have in common. */
export type GithubEvents = Readonly<Record<string, GithubPayload>>

/** What `github` is configured with. */
export type GithubOptions = SecretOptions
