/**
 * Standard Webhooks: `webhook-signature: v1,<base64> v1a,<base64> …` over
 * `<webhook-id>.<webhook-timestamp>.<body>`; `v1` is HMAC, `v1a` is Ed25519.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { findHeader } from '../model/delivery.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventMap, Identified, Source, SourceOptions, VerdictReason } from '../model/source.ts'
import { findEd25519Signer, requireEd25519Key } from '../verify/ed25519.ts'
import type { PublicKey } from '../verify/ed25519.ts'
import { hmacSigner } from '../verify/hmac.ts'
import { JsonBody } from '../verify/json-body.ts'
import { resolveSecrets } from '../verify/secrets.ts'
import type { Secret } from '../verify/secrets.ts'
import { verifyDelivery } from '../verify/verify-delivery.ts'
import type { Claim, FindSigner } from '../verify/verify-delivery.ts'
import { defineScheme, defineSource, requireOptions, SECRET_OPTION_KEYS } from './define-source.ts'
import type { HmacProvider } from './define-source.ts'
import { occurredAt } from './occurred-at.ts'
import { UNKNOWN_TYPE } from './unknown-type.ts'

const STANDARD_WEBHOOKS: HmacProvider = {
  provider: 'standard_webhooks',
  securityHeaders: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  algorithm: 'sha256',
  encoding: 'base64',
  secretEncoding: 'whsec',
  timestamp: { format: 'seconds', toleranceSeconds: 300 },
  signed: '{header:webhook-id}.{timestamp}.{body}',
  // The sum of the schedule that the specification gives as its example.
  retryWindowHours: 75.6,
  // The id is signed.
  sameBytes: 'run',
  readClaim,
  identify,
}

/** The payload that the specification recommends. */
export interface StandardWebhooksPayload {
  readonly type: string
  /** ISO 8601. */
  readonly timestamp?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: any
}

export type StandardWebhooksEvents = Readonly<Record<string, StandardWebhooksPayload>>

export interface StandardWebhooksOptions extends SourceOptions {
  /** `whsec_` and base64. May be left out where `publicKey` is given. */
  readonly secrets?: readonly Secret[]
  /** `whpk_` and base64, or several: for senders that sign with Ed25519 (`v1a`). */
  readonly publicKey?: string | readonly string[]
  /**
   * How old the signed timestamp may be, and how far ahead of our clock.
   *
   * @defaultValue 300
   */
  readonly toleranceSeconds?: number
}

/** Any sender that follows Standard Webhooks. An event is known by its `webhook-id`. */
export function standardWebhooks<Events extends EventMap = StandardWebhooksEvents>(
  options: StandardWebhooksOptions,
): Source<Events> {
  const { provider, secretEncoding } = STANDARD_WEBHOOKS
  requireOptions(provider, options, [...SECRET_OPTION_KEYS, 'publicKey'])
  const publicKeys = resolvePublicKeys(options.publicKey)
  const { secrets, warnings } =
    options.secrets === undefined && publicKeys.length > 0
      ? { secrets: [], warnings: [] }
      : resolveSecrets(provider, options.secrets, secretEncoding)
  const scheme = defineScheme(STANDARD_WEBHOOKS, options.toleranceSeconds)
  const findHmacSigner = hmacSigner(secrets, STANDARD_WEBHOOKS)
  const findSigner: FindSigner = (claim, signed, nowMs) =>
    findHmacSigner(claim, signed, nowMs) ??
    findEd25519Signer(publicKeys, claim.publicSignatures ?? [], 'base64', signed)
  return defineSource<Events>(STANDARD_WEBHOOKS, options, {
    warnings,
    verify: (delivery) => verifyDelivery(scheme, findSigner, delivery),
    identify,
  })
}

function resolvePublicKeys(
  publicKey: string | readonly string[] | undefined,
): readonly PublicKey[] {
  if (publicKey === undefined) return []
  const option = `${STANDARD_WEBHOOKS.provider}.publicKey`
  const list: readonly unknown[] = Array.isArray(publicKey) ? publicKey : [publicKey]
  return list.map((text, index) => {
    if (typeof text !== 'string')
      throw new OptionInvalidError(option, 'whpk_ followed by base64', text)
    const base64 = text.startsWith('whpk_') ? text.slice(5) : text
    return requireEd25519Key(option, base64, `public-${index + 1}`)
  })
}

/**
 * The signed text joins id, timestamp and body with dots, and the body may hold dots as well. An id
 * that itself contains `.<timestamp>` would let one signature be read as two different deliveries:
 * `msg` + `1760000000` + `1760000300.x` signs the same bytes as `msg.1760000000` + `1760000300` + `x`.
 * The specification forbids dots in ids; those that can be mistaken are refused here, the others
 * are harmless.
 */
const AMBIGUOUS_ID = /\.\d{10}(?:\.|$)/

function readClaim(delivery: Delivery): Claim | VerdictReason {
  const id = findHeader(delivery, 'webhook-id')
  const timestamp = findHeader(delivery, 'webhook-timestamp')
  const header = findHeader(delivery, 'webhook-signature')
  if (!id || timestamp === undefined || header === undefined) return 'missing-header'
  if (AMBIGUOUS_ID.test(id)) return 'malformed-header'
  const signatures: string[] = []
  const publicSignatures: string[] = []
  for (let from = 0; from < header.length;) {
    const space = header.indexOf(' ', from)
    const to = space === -1 ? header.length : space
    if (header.startsWith('v1,', from)) signatures.push(header.slice(from + 3, to))
    if (header.startsWith('v1a,', from)) publicSignatures.push(header.slice(from + 4, to))
    from = to + 1
  }
  return { signatures, publicSignatures, timestamp }
}

function identify(delivery: Delivery): Identified {
  const json = JsonBody.find(delivery.body)
  return [
    {
      key: findHeader(delivery, 'webhook-id') || undefined,
      type: json?.findText(['type']) ?? UNKNOWN_TYPE,
      ...occurredAt(json?.findValue(['timestamp'])),
    },
  ]
}
