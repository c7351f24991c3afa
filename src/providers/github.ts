/**
 * GitHub: `x-hub-signature-256: sha256=<hex>` over the body, be it JSON or a form.
 *
 * The older `x-hub-signature` with SHA-1 is not read: GitHub sends both.
 *
 * @module
 */

import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventMap, Identified, Source } from '../model/source.ts'
import { defineHmacSource } from './define-source.ts'
import type { HmacProvider, SecretOptions } from './define-source.ts'
import { readPlainClaim } from './read-claim.ts'
import { UNKNOWN_TYPE } from './unknown-type.ts'

const GITHUB: HmacProvider = {
  provider: 'github',
  securityHeaders: ['x-hub-signature-256', 'x-github-delivery', 'x-github-event'],
  algorithm: 'sha256',
  encoding: 'hex',
  secretEncoding: 'utf8',
  timestamp: undefined,
  signed: '{body}',
  // It never retries by itself; people redeliver, under the same id.
  retryWindowHours: 0,
  // Neither the id nor the event's name is signed.
  sameBytes: 'quarantine',
  readClaim: readPlainClaim({ header: 'x-hub-signature-256', prefix: 'sha256=' }),
  identify,
}

/** What GitHub's events have in common. For exact types, give `github` a map of them. */
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

export type GithubOptions = SecretOptions

/**
 * GitHub's webhooks.
 *
 * An event is known by `x-github-delivery`; its type is `x-github-event`, such as `pull_request`,
 * and what happened is in `payload.action`.
 */
export function github<Events extends EventMap = GithubEvents>(
  options: GithubOptions,
): Source<Events> {
  return defineHmacSource<Events>(GITHUB, options)
}

function identify(delivery: Delivery): Identified {
  return [
    {
      // `||`, because an empty header is as good as none.
      key: findHeader(delivery, 'x-github-delivery') || undefined,
      type: findHeader(delivery, 'x-github-event') || UNKNOWN_TYPE,
    },
  ]
}
