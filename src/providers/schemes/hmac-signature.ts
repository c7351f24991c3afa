import { createHash } from 'node:crypto'
import { decodeSignature } from '../../verify/decode.ts'
import type { HmacAlgorithm } from '../../verify/hmac.ts'
import { hmacSigner, isEqual, SIGNATURES_TRIED_MAX } from '../../verify/hmac.ts'
import { isLive, resolveSecrets } from '../../verify/secrets.ts'
import type { ResolvedSecret, Secret, SecretEncoding } from '../../verify/secrets.ts'
import { verifyDelivery } from '../../verify/verify-delivery.ts'
import type { FindSigner } from '../../verify/verify-delivery.ts'
import { compileScheme, listSpecHeaders, needsPublicUrl, signsBody } from './signature-spec.ts'
import type { SignatureSpec } from './signature-spec.ts'
import type { BuildContext, BuiltVerification, Verification } from './verification.ts'

/** How a provider signs with HMAC. */
export interface HmacSpec extends SignatureSpec {
  readonly algorithm: HmacAlgorithm
  /**
   * How the text of a secret becomes the bytes of a key.
   *
   * @defaultValue 'utf8'
   */
  readonly secretEncoding?: SecretEncoding
  /**
   * How many signatures of a delivery are tried, for senders that sign with many keys at once.
   *
   * @defaultValue 8
   */
  readonly signaturesMax?: number
  /** Whether `signed`, being code, needs the public URL. */
  readonly usesPublicUrl?: boolean
}

/** A plain hash of the secret and then the rest. Weaker than HMAC; for senders that know no better. */
export interface HashSpec extends SignatureSpec {
  readonly algorithm: 'sha256'
  readonly usesPublicUrl?: boolean
}

/** HMAC with shared secrets: most providers. */
export function hmacSignature(spec: HmacSpec): Verification {
  return {
    kind: 'hmac',
    spec,
    summary: `HMAC-${spec.algorithm.toUpperCase().replace('SHA', 'SHA-')} in ${describeEncoding(spec)}`,
    ...describeSpec(spec),
    build: (context) =>
      build(spec, context, spec.secretEncoding ?? 'utf8', (secrets) => hmacSigner(secrets, spec)),
  }
}

/** A plain hash of the secret and then the content. For senders that know no better. */
export function hashSignature(spec: HashSpec): Verification {
  return {
    kind: 'hash',
    spec,
    summary: `SHA-256 of the secret and the content, in ${describeEncoding(spec)} (not HMAC)`,
    ...describeSpec(spec),
    build: (context) => build(spec, context, 'utf8', (secrets) => hashSigner(secrets, spec)),
  }
}

function describeSpec(spec: SignatureSpec & { readonly usesPublicUrl?: boolean }) {
  const { timestamp } = spec
  return {
    ...listSpecHeaders(spec),
    signsBody: signsBody(spec),
    optionNames: [
      'secrets',
      // Taken by all of them, and warned about where nothing signed has a time.
      'toleranceSeconds',
      ...(needsPublicUrl(spec, spec.usesPublicUrl) ? ['publicUrl'] : []),
    ],
    ...(timestamp && { toleranceSeconds: timestamp.toleranceSeconds }),
  }
}

function build(
  spec: SignatureSpec & { readonly usesPublicUrl?: boolean },
  context: BuildContext,
  encoding: SecretEncoding,
  signerOf: (secrets: readonly ResolvedSecret[]) => FindSigner,
): BuiltVerification {
  const given = context.options['secrets'] as readonly Secret[] | undefined
  const { secrets, warnings } = resolveSecrets(context.provider, given, encoding)
  const scheme = compileScheme(spec, context, needsPublicUrl(spec, spec.usesPublicUrl))
  const findSigner = signerOf(secrets)
  return {
    secrets,
    warnings,
    verify: (delivery) => verifyDelivery(scheme, findSigner, delivery),
  }
}

function hashSigner(
  secrets: readonly ResolvedSecret[],
  { algorithm, encoding }: HashSpec,
): FindSigner {
  return ({ signatures }, signed, nowMs) => {
    const candidates = signatures
      .slice(0, SIGNATURES_TRIED_MAX)
      .flatMap((text) => decodeSignature(text, encoding, 32) ?? [])
    if (candidates.length === 0) return undefined
    return secrets.find((secret) => {
      if (!isLive(secret, nowMs)) return false
      const hash = createHash(algorithm).update(secret.key.export())
      for (const part of signed) {
        if (typeof part === 'string') hash.update(part, 'latin1')
        else hash.update(part)
      }
      const digest = hash.digest()
      return candidates.some((candidate) => isEqual(candidate, digest))
    })?.label
  }
}

function describeEncoding({ encoding }: SignatureSpec): string {
  return encoding === 'lower-hex' ? 'hex' : encoding
}
