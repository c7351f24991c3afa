/**
 * Standard Webhooks, by whatever names a sender gives its headers:
 * `<name>-signature: v1,<base64> v1a,<base64> …` over `<name>-id . <name>-timestamp . body`; `v1` is
 * HMAC, `v1a` is Ed25519.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { SourceOptions, VerdictReason } from '../../model/source.ts'
import { findEd25519Signer, requireEd25519Key } from '../../verify/ed25519.ts'
import type { PublicKey } from '../../verify/ed25519.ts'
import { hmacSigner } from '../../verify/hmac.ts'
import { resolveSecrets } from '../../verify/secrets.ts'
import type { Secret, SecretEncoding } from '../../verify/secrets.ts'
import { isByteText } from '../../verify/signed-template.ts'
import { verifyDelivery } from '../../verify/verify-delivery.ts'
import type { Claim, FindSigner, Scheme } from '../../verify/verify-delivery.ts'
import type { BuildContext, BuiltVerification, Verification } from './verification.ts'

/** How a provider follows Standard Webhooks. */
export interface StandardSpec {
  /** What the names of the three headers begin with; of several families the first that is there counts. */
  readonly names: readonly string[]
  /**
   * How the text of a secret becomes the bytes of a key.
   *
   * @defaultValue 'whsec'
   */
  readonly secretEncoding?: SecretEncoding
  /**
   * Whether a signature may also stand alone, without `v1,`, for senders whose own libraries take that.
   *
   * @defaultValue false
   */
  readonly isVersionOptional?: boolean
}

/** What a sender of Standard Webhooks is configured with: `secrets`, or `publicKey`, or both. */
export interface StandardOptions extends SourceOptions {
  /** `whsec_` and base64. May be left out where `publicKey` is given. */
  readonly secrets?: readonly Secret[]
  /** `whpk_` and base64, or several: for senders that sign with Ed25519 (`v1a`). Left out, only `v1` counts. */
  readonly publicKey?: string | readonly string[]
  /**
   * How old the signed timestamp may be, and how far ahead of our clock.
   *
   * @defaultValue 300
   */
  readonly toleranceSeconds?: number
}

const TOLERANCE_SECONDS = 300

/** Standard Webhooks under the sender's header names: HMAC (`v1`) or Ed25519 (`v1a`). */
export function standardSignature(spec: StandardSpec): Verification {
  const headers = spec.names.flatMap((name) => listNames(name))
  return {
    kind: 'standard',
    spec,
    summary: 'Standard Webhooks: HMAC-SHA-256 in base64 (`v1`), or Ed25519 (`v1a`)',
    headers,
    signedHeaders: headers.filter((name) => !name.endsWith('-signature')),
    signsBody: true,
    optionNames: ['secrets', 'publicKey', 'toleranceSeconds'],
    toleranceSeconds: TOLERANCE_SECONDS,
    build: (context) => build(spec, context),
  }
}

/** The header of the family that signed this delivery. */
export function findStandardHeader(
  delivery: Delivery,
  { names }: StandardSpec,
  part: 'id' | 'timestamp' | 'signature',
): string | undefined {
  const name = names.find((one) => findHeader(delivery, `${one}-signature`) !== undefined)
  return name === undefined ? undefined : findHeader(delivery, `${name}-${part}`)
}

function listNames(name: string): readonly string[] {
  return [`${name}-id`, `${name}-timestamp`, `${name}-signature`]
}

function build(spec: StandardSpec, { provider, options }: BuildContext): BuiltVerification {
  const publicKeys = requireKeys(provider, options['publicKey'])
  const given = options['secrets'] as readonly Secret[] | undefined
  const { secrets, warnings } =
    given === undefined && publicKeys.length > 0
      ? { secrets: [], warnings: [] }
      : resolveSecrets(provider, given, spec.secretEncoding ?? 'whsec')
  const findHmacSigner = hmacSigner(secrets, { algorithm: 'sha256', encoding: 'base64' })
  const findSigner: FindSigner = (claim, signed, nowMs) =>
    findHmacSigner(claim, signed, nowMs) ??
    findEd25519Signer(publicKeys, claim.publicSignatures ?? [], 'base64', signed)
  const chosen = options['toleranceSeconds']
  const scheme = schemeOf(spec, typeof chosen === 'number' ? chosen : TOLERANCE_SECONDS)
  return { secrets, warnings, verify: (delivery) => verifyDelivery(scheme, findSigner, delivery) }
}

function schemeOf(spec: StandardSpec, toleranceSeconds: number): Scheme {
  return {
    readClaim: (delivery) => readClaim(delivery, spec),
    timestamp: { format: 'seconds', toleranceSeconds },
    signed: {
      headers: [],
      render: (delivery, timestamp) => {
        const id = findStandardHeader(delivery, spec, 'id') ?? ''
        if (!isByteText(id)) return 'malformed-header'
        return [`${id}.${timestamp}.`, delivery.body]
      },
    },
  }
}

/**
 * The signed text joins id, timestamp and body with dots, and the body may hold dots as well. An id
 * that itself contains `.<timestamp>` would let one signature be read as two different deliveries:
 * `msg` + `1760000000` + `1760000300.x` signs the same bytes as `msg.1760000000` + `1760000300` + `x`.
 * The specification forbids dots in ids; those that can be mistaken are refused here, the others
 * are harmless.
 */
const AMBIGUOUS_ID = /\.\d{10}(?:\.|$)/

function readClaim(delivery: Delivery, spec: StandardSpec): Claim | VerdictReason {
  const id = findStandardHeader(delivery, spec, 'id')
  const timestamp = findStandardHeader(delivery, spec, 'timestamp')
  const header = findStandardHeader(delivery, spec, 'signature')
  if (!id || timestamp === undefined || header === undefined) return 'missing-header'
  if (AMBIGUOUS_ID.test(id)) return 'malformed-header'
  const signatures: string[] = []
  const publicSignatures: string[] = []
  for (const entry of header.split(' ', ENTRIES_MAX)) {
    if (entry.startsWith('v1,')) signatures.push(entry.slice(3))
    else if (entry.startsWith('v1a,')) publicSignatures.push(entry.slice(4))
    // One of another version is pushed too, and is no base64 for its comma.
    else if (spec.isVersionOptional === true) signatures.push(entry)
  }
  return { signatures, publicSignatures, timestamp }
}

/** More entries than any rotation makes are not even looked at. */
const ENTRIES_MAX = 64

function requireKeys(provider: string, publicKey: unknown): readonly PublicKey[] {
  if (publicKey === undefined) return []
  const option = `${provider}.publicKey`
  const list: readonly unknown[] = Array.isArray(publicKey) ? publicKey : [publicKey]
  return list.map((text, index) => {
    if (typeof text !== 'string')
      throw new OptionInvalidError(option, 'whpk_ followed by base64', text)
    const base64 = text.startsWith('whpk_') ? text.slice(5) : text
    return requireEd25519Key(option, base64, `public-${index + 1}`)
  })
}
