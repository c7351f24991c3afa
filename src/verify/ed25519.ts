/**
 * Ed25519 signatures, checked with keys from the configuration and never from the request.
 *
 * @module
 */

import { createPublicKey, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'
import { decodeBase64, decodeSignature } from './decode.ts'
import type { SignatureEncoding } from './decode.ts'
import { joinParts } from './signed-template.ts'
import type { SignedPart } from './signed-template.ts'

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64

export interface PublicKey {
  readonly label: string
  readonly key: KeyObject
}

/** A key of 32 bytes in base64, as `whpk_…` carries it once its prefix is gone. */
export function requireEd25519Key(option: string, base64: unknown, label: string): PublicKey {
  const bytes = typeof base64 === 'string' ? decodeBase64(base64) : undefined
  if (bytes?.byteLength !== KEY_BYTES) {
    throw new OptionInvalidError(
      option,
      `an Ed25519 public key of ${KEY_BYTES} bytes in base64`,
      base64,
    )
  }
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }
  return { label, key: createPublicKey({ key: jwk, format: 'jwk' }) }
}

/**
 * How many signatures are tried. A rotation has two; each costs as much as two HMACs over the same bytes, and
 * no part of one can be used for the next.
 */
const TRIED_MAX = 3

/** The label of the key under which any of the signatures holds. */
export function findEd25519Signer(
  keys: readonly PublicKey[],
  signatures: readonly string[],
  encoding: SignatureEncoding,
  signed: readonly SignedPart[],
): string | undefined {
  if (keys.length === 0 || signatures.length === 0) return undefined
  const bytes = joinParts(signed)
  for (const text of signatures.slice(0, TRIED_MAX)) {
    const signature = decodeSignature(text, encoding, SIGNATURE_BYTES)
    if (signature === undefined) continue
    const match = keys.find(({ key }) => verify(null, bytes, key, signature))
    if (match !== undefined) return match.label
  }
  return undefined
}
