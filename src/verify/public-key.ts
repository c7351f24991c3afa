/**
 * Public keys from the configuration, never from a request, and the check of a signature with them.
 *
 * @module
 */

import { createPublicKey, verify, X509Certificate } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'
import { decodeBase64, decodeHex } from './decode.ts'
import type { PublicKey } from './ed25519.ts'

export type PublicKeyKind = 'ec' | 'rsa' | 'ed25519'

const SHAPES: Readonly<Record<PublicKeyKind, string>> = {
  ec: 'a P-256 public key: PEM, or its DER in base64',
  rsa: 'an RSA public key or certificate: PEM, or its DER in base64',
  ed25519: 'an Ed25519 public key: 32 bytes in hex or base64, or PEM',
}

/** One key or several, each as PEM, as the base64 of its DER, or as the bare bytes where a kind has them. */
export function requirePublicKeys(
  option: string,
  keys: unknown,
  kind: PublicKeyKind,
): readonly PublicKey[] {
  const list: readonly unknown[] = Array.isArray(keys) ? keys : [keys]
  if (list.length === 0) throw new OptionInvalidError(option, SHAPES[kind], keys)
  return list.map((text, index) => {
    const key = typeof text === 'string' ? findKey(text.trim(), kind) : undefined
    if (key === undefined) throw new OptionInvalidError(option, SHAPES[kind], text)
    return { label: `public-${index + 1}`, key }
  })
}

/** The public key of a JSON Web Key, or `undefined` when it is none of this kind. */
export function findJwkKey(jwk: unknown, kind: PublicKeyKind): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
    return isOfKind(key, kind) ? key : undefined
  } catch {
    return undefined
  }
}

/** Whether a signature holds. Total: a signature that cannot be one does not hold. */
export function isSignedBy(
  key: KeyObject,
  { digest, form }: { readonly digest: 'sha1' | 'sha256'; readonly form: 'der' | 'raw' | 'rsa' },
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  try {
    if (form === 'rsa') return verify(digest, bytes, key, signature)
    const dsaEncoding = form === 'der' ? 'der' : 'ieee-p1363'
    return verify(digest, bytes, { key, dsaEncoding }, signature)
  } catch {
    return false
  }
}

function findKey(text: string, kind: PublicKeyKind): KeyObject | undefined {
  try {
    const key = readKey(text, kind)
    return key !== undefined && isOfKind(key, kind) ? key : undefined
  } catch {
    return undefined
  }
}

function readKey(text: string, kind: PublicKeyKind): KeyObject | undefined {
  if (text.includes('BEGIN CERTIFICATE')) return new X509Certificate(text).publicKey
  if (text.startsWith('-----')) return createPublicKey(text)
  const bare = kind === 'ed25519' ? findBareKey(text) : undefined
  if (bare !== undefined) {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: bare.toString('base64url') }
    return createPublicKey({ key: jwk, format: 'jwk' })
  }
  const der = decodeBase64(text)
  return der && createPublicKey({ key: der, format: 'der', type: 'spki' })
}

function findBareKey(text: string): Buffer | undefined {
  const bytes = decodeHex(text) ?? decodeBase64(text)
  return bytes?.byteLength === 32 ? bytes : undefined
}

export function isOfKind(key: KeyObject, kind: PublicKeyKind): boolean {
  if (key.type !== 'public') return false
  if (kind === 'ec')
    return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  // Under 2048 bits an RSA key can be broken with money.
  if (kind === 'rsa')
    return key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048
  return key.asymmetricKeyType === 'ed25519'
}
