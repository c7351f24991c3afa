/**
 * Netlify: a JSON Web Token (HS256) from `netlify`, whose claim `sha256` is the hash of the body. The token
 * alone says nothing of the body, so both are checked.
 *
 * The token has no time in it that can be relied on, and the name of the event is in an unsigned
 * header: a request that was seen may be sent again under another name. It is then quarantined.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { instantAt } from '../instant-at.ts'
import { jwtSignature } from '../schemes/jwt-signature.ts'

/**
 * Netlify's deploy and form notifications.
 *
 * There is no event id: `id` is the deploy's. An event is known by its name, the deploy, the state that
 * it is in and when it came into it.
 */
export const netlify: Provider<NetlifyOptions, NetlifyEvents> = defineProvider({
  provider: 'netlify',
  verify: jwtSignature({
    header: 'x-webhook-signature',
    algorithm: 'HS256',
    claims: { iss: 'netlify' },
    bodyHashClaim: 'sha256',
  }),
  key: {
    all: [
      { optional: 'header:x-netlify-event' },
      'json:$.id',
      // A submission of a form has neither, and happens once.
      { optional: 'json:$.state' },
      { optional: 'json:$.updated_at' },
    ],
  },
  scope: 'json:$.site_id',
  type: ['header:x-netlify-event', 'json:$.state'],
  occurredAt: ['json:$.updated_at', 'json:$.created_at'],
  version: instantAt('json:$.updated_at'),
  retryWindowHours: 0,
})

/** What an event of Netlify carries, as far as it is typed here. */
export interface NetlifyPayload {
  /** The deploy's, or the submission's. */
  readonly id: string
  readonly site_id?: string
  readonly state?: string
  /** ISO 8601. */
  readonly created_at: string
  readonly updated_at?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Netlify by event type. Give `netlify` a map of your own for exact ones. */
export type NetlifyEvents = Readonly<Record<string, NetlifyPayload>>

/** What `netlify` is configured with. */
export type NetlifyOptions = SecretOptions
