import type { SourceOptions } from '../../model/source.ts'
import { decodeBounded } from '../../verify/decode.ts'
import { findEd25519Signer } from '../../verify/ed25519.ts'
import type { PublicKey } from '../../verify/ed25519.ts'
import { SIGNATURES_TRIED_MAX } from '../../verify/hmac.ts'
import { isSignedBy, requirePublicKeys } from '../../verify/public-key.ts'
import { joinParts } from '../../verify/signed-template.ts'
import { verifyDelivery } from '../../verify/verify-delivery.ts'
import type { FindSigner } from '../../verify/verify-delivery.ts'
import { compileScheme, listSpecHeaders, signsBody } from './signature-spec.ts'
import type { SignatureSpec } from './signature-spec.ts'
import type { BuildContext, BuiltVerification, Verification } from './verification.ts'

/** How a provider signs with a private key of its own. */
export interface PublicKeySpec extends SignatureSpec {
  /**
   * How an ECDSA signature is written: DER, or the two numbers one after the other.
   *
   * @defaultValue 'der'
   */
  readonly form?: 'der' | 'raw'
}

/** For providers that sign with a private key of their own. */
export interface PublicKeyOptions extends SourceOptions {
  /** The provider's public key as it shows it, or several for a rotation. */
  readonly publicKey: string | readonly string[]
  /**
   * How old the signed timestamp may be, and how far ahead of our clock.
   *
   * @defaultValue the provider's, see its page
   */
  readonly toleranceSeconds?: number
}

/** Ed25519, checked with the provider's public key. */
export function ed25519Signature(spec: PublicKeySpec): Verification {
  return {
    kind: 'ed25519',
    spec,
    summary: `Ed25519 in ${spec.encoding}`,
    ...describeSpec(spec),
    build: (context) =>
      build(
        spec,
        context,
        'ed25519',
        (keys) =>
          ({ signatures }, signed) =>
            findEd25519Signer(keys, signatures, spec.encoding, signed),
      ),
  }
}

/** ECDSA over P-256 with SHA-256. */
export function ecdsaSignature(spec: PublicKeySpec): Verification {
  return {
    kind: 'ecdsa',
    spec,
    summary: `ECDSA (P-256, SHA-256) in ${spec.encoding}`,
    ...describeSpec(spec),
    build: (context) => build(spec, context, 'ec', (keys) => ecdsaSigner(keys, spec)),
  }
}

function describeSpec(spec: PublicKeySpec) {
  return {
    ...listSpecHeaders(spec),
    signsBody: signsBody(spec),
    optionNames: ['publicKey', 'toleranceSeconds'],
    ...(spec.timestamp && { toleranceSeconds: spec.timestamp.toleranceSeconds }),
  }
}

function build(
  spec: PublicKeySpec,
  context: BuildContext,
  kind: 'ec' | 'ed25519',
  signerOf: (keys: readonly PublicKey[]) => FindSigner,
): BuiltVerification {
  const option = `${context.provider}.publicKey`
  const findSigner = signerOf(requirePublicKeys(option, context.options['publicKey'], kind))
  const scheme = compileScheme(spec, context)
  return {
    secrets: [],
    warnings: [],
    verify: (delivery) => verifyDelivery(scheme, findSigner, delivery),
  }
}

/** A P-256 signature is 64 bytes raw, and up to 72 in DER. */
const SIGNATURE_BYTES_MAX = 72

function ecdsaSigner(
  keys: readonly PublicKey[],
  { encoding, form = 'der' }: PublicKeySpec,
): FindSigner {
  return ({ signatures }, signed) => {
    const bytes = joinParts(signed)
    for (const text of signatures.slice(0, SIGNATURES_TRIED_MAX)) {
      const signature = decodeBounded(text, encoding, SIGNATURE_BYTES_MAX)
      if (signature === undefined) continue
      const match = keys.find(({ key }) =>
        isSignedBy(key, { digest: 'sha256', form }, bytes, signature),
      )
      if (match !== undefined) return match.label
    }
    return undefined
  }
}
