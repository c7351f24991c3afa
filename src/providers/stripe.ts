/**
 * Stripe: `stripe-signature: t=<seconds>,v1=<hex>[,v1=<hex>][,v0=<hex>]`.
 *
 * @module
 */

import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventMap, Identified, Source, VerdictReason } from '../model/source.ts'
import { JsonBody } from '../verify/json-body.ts'
import type { Claim } from '../verify/verify-delivery.ts'
import { defineHmacSource } from './define-source.ts'
import type { HmacProvider, SecretOptions } from './define-source.ts'
import { occurredAt } from './occurred-at.ts'
import { UNKNOWN_TYPE } from './unknown-type.ts'

const STRIPE: HmacProvider = {
  provider: 'stripe',
  securityHeaders: ['stripe-signature'],
  algorithm: 'sha256',
  encoding: 'hex',
  // The whole `whsec_…` is the key, as text.
  secretEncoding: 'utf8',
  timestamp: { format: 'seconds', toleranceSeconds: 300 },
  signed: '{timestamp}.{body}',
  retryWindowHours: 72,
  // The id is in the signed body.
  sameBytes: 'run',
  readClaim,
  identify,
}

/**
 * Counts the endpoints that have not answered yet, so it changes from one retry to the next.
 * `api_version`, `request` and `data` are set when the event is made and stay.
 */
const VOLATILE_MEMBERS = [['pending_webhooks']]

/** What every Stripe event has. For the exact types of Stripe's own package, give `stripe` a map of them. */
export interface StripePayload {
  readonly id: string
  readonly object: string
  readonly type: string
  /** Seconds since 1970. */
  readonly created: number
  readonly livemode: boolean
  /** The connected account, for events of Connect. */
  readonly account?: string
  readonly api_version?: string | null
  readonly pending_webhooks?: number
  readonly request?: { readonly id: string | null; readonly idempotency_key: string | null } | null
  readonly data: {
    // The objects have hundreds of shapes; `any` lets a handler read them without a cast.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly object: Record<string, any>
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly previous_attributes?: Record<string, any>
  }
}

/** Any event type, with the payload every Stripe event has. */
export type StripeEvents = Readonly<Record<string, StripePayload>>

export type StripeOptions = SecretOptions

/**
 * Stripe's webhooks.
 *
 * An event is known by its `id`, apart for live and test mode and for each connected account.
 */
export function stripe<Events extends EventMap = StripeEvents>(
  options: StripeOptions,
): Source<Events> {
  return defineHmacSource<Events>(STRIPE, options)
}

function readClaim(delivery: Delivery): Claim | VerdictReason {
  const header = findHeader(delivery, 'stripe-signature')
  if (header === undefined) return 'missing-header'
  let timestamp: string | undefined
  const signatures: string[] = []
  for (let from = 0; from <= header.length;) {
    const comma = header.indexOf(',', from)
    const to = comma === -1 ? header.length : comma
    if (header.startsWith('t=', from)) {
      // Two timestamps: which one was signed would be ours to guess.
      if (timestamp !== undefined) return 'malformed-header'
      timestamp = header.slice(from + 2, to)
    } else if (header.startsWith('v1=', from)) {
      signatures.push(header.slice(from + 3, to))
    }
    from = to + 1
  }
  return timestamp === undefined ? 'malformed-header' : { signatures, timestamp }
}

function identify({ body }: Delivery): Identified {
  const json = JsonBody.find(body)
  if (json === undefined) return [{ key: undefined, type: UNKNOWN_TYPE }]
  const content = json.findBytesWithout(VOLATILE_MEMBERS)
  return [
    {
      key: json.findText(['id']),
      scope: findScope(json),
      type: json.findText(['type']) ?? UNKNOWN_TYPE,
      ...occurredAt(json.findValue(['created'])),
      ...(content && { content }),
    },
  ]
}

/** The mode comes first and has no space in it, so no two pairs of mode and account read the same. */
function findScope(json: JsonBody): string {
  const livemode = json.findValue(['livemode'])
  const mode = livemode === true ? 'live' : livemode === false ? 'test' : 'unknown'
  // Thin events name the account as their context.
  const account = json.findText(['account']) ?? json.findText(['context'])
  return account === undefined ? mode : `${mode} ${account}`
}
