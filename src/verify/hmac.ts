/**
 * HMAC over the bytes as they arrived.
 *
 * @module
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { decodeSignature } from './decode.ts'
import type { SignatureEncoding } from './decode.ts'
import { isLive } from './secrets.ts'
import type { ResolvedSecret } from './secrets.ts'
import type { SignedPart } from './signed-template.ts'
import type { FindSigner } from './verify-delivery.ts'

/** The hash of an HMAC. */
export type HmacAlgorithm = 'sha1' | 'sha256' | 'sha512'

const DIGEST_BYTES: Readonly<Record<HmacAlgorithm, number>> = {
  sha1: 20,
  sha256: 32,
  sha512: 64,
}

/**
 * More signatures than any rotation needs; past it a header is an attempt to keep us busy.
 * The digest is computed once for each secret, whatever the number of signatures.
 */
export const SIGNATURES_TRIED_MAX = 8

export interface HmacForm {
  readonly algorithm: HmacAlgorithm
  readonly encoding: SignatureEncoding
  readonly signaturesMax?: number
}

/** Finds the first live secret under which any of the claimed signatures holds. */
export function hmacSigner(
  secrets: readonly ResolvedSecret[],
  { algorithm, encoding, signaturesMax = SIGNATURES_TRIED_MAX }: HmacForm,
): FindSigner {
  return ({ signatures }, signed, nowMs) => {
    const tried = signatures.slice(0, signaturesMax)
    const candidates = decodeCandidates(tried, encoding, DIGEST_BYTES[algorithm])
    if (candidates.length === 0) return undefined
    for (const secret of secrets) {
      if (!isLive(secret, nowMs)) continue
      const digest = computeDigest(algorithm, secret, signed)
      if (candidates.some((candidate) => isEqual(candidate, digest))) return secret.label
    }
    return undefined
  }
}

function decodeCandidates(
  signatures: readonly string[],
  encoding: SignatureEncoding,
  byteLength: number,
): readonly Buffer[] {
  const candidates: Buffer[] = []
  for (const text of signatures) {
    const bytes = decodeSignature(text, encoding, byteLength)
    if (bytes !== undefined) candidates.push(bytes)
  }
  return candidates
}

function computeDigest(
  algorithm: HmacAlgorithm,
  secret: ResolvedSecret,
  signed: readonly SignedPart[],
): Buffer {
  const hmac = createHmac(algorithm, secret.key)
  for (const part of signed) {
    // Header text holds one byte for each character, as HTTP delivers it.
    if (typeof part === 'string') hmac.update(part, 'latin1')
    else hmac.update(part)
  }
  return hmac.digest()
}

/** `timingSafeEqual` throws on unequal lengths, and a length tells nothing about the digest. */
export function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}
