/**
 * JSON Web Signatures in their compact form.
 *
 * The algorithm is the configuration's. The token's own `alg` must agree and decides nothing: a
 * verifier that asks the token takes `none`, or HMAC keyed with the text of a public key.
 *
 * Total: any text gives claims or a reason.
 *
 * @module
 */

import { createHmac } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { VerdictReason } from '../model/source.ts'
import { decodeBase64Url } from './decode.ts'
import { isEqual } from './hmac.ts'
import { isSignedBy } from './public-key.ts'

/** How a JSON Web Token is signed. */
export type JwtAlgorithm = 'HS256' | 'ES256' | 'RS256'

export interface ParsedJwt {
  /** Which key the token says it was signed with. */
  readonly keyId: string | undefined
  readonly claims: Readonly<Record<string, unknown>>
  readonly signed: Buffer
  readonly signature: Buffer
}

const TOKEN_CHARACTERS_MAX = 16_384

/** The parts of a token that claims to use this algorithm. None of them is believed yet. */
export function parseJwt(token: string, algorithm: JwtAlgorithm): ParsedJwt | VerdictReason {
  if (token.length > TOKEN_CHARACTERS_MAX) return 'malformed-header'
  const parts = token.split('.')
  const [header, payload, signature] = parts.map((part) => decodeBase64Url(part))
  if (parts.length !== 3 || !header || !payload || !signature) return 'malformed-header'
  const head = findObject(header)
  const claims = findObject(payload)
  if (head === undefined || claims === undefined) return 'malformed-header'
  // `crit` names extensions that must be understood (RFC 7515, section 4.1.11), and none is.
  if (head['alg'] !== algorithm || Object.hasOwn(head, 'crit')) return 'bad-signature'
  const keyId = head['kid']
  return {
    keyId: typeof keyId === 'string' ? keyId : undefined,
    claims,
    signed: Buffer.from(token.slice(0, token.lastIndexOf('.')), 'latin1'),
    signature,
  }
}

/** Whether the token was signed with this key. */
export function isJwtSignedBy(
  { signed, signature }: ParsedJwt,
  algorithm: JwtAlgorithm,
  key: KeyObject,
): boolean {
  if (algorithm === 'HS256') {
    return (
      key.type === 'secret' && isEqual(createHmac('sha256', key).update(signed).digest(), signature)
    )
  }
  const form = algorithm === 'ES256' ? 'raw' : 'rsa'
  return key.type === 'public' && isSignedBy(key, { digest: 'sha256', form }, signed, signature)
}

/** Whether `iat`, `nbf` and `exp` allow the token now. What is absent allows; what is no number does not. */
export function isJwtInTime(
  claims: ParsedJwt['claims'],
  nowMs: number,
  { leewaySeconds, ageSecondsMax }: { leewaySeconds: number; ageSecondsMax?: number | undefined },
): boolean {
  const now = nowMs / 1000
  const time = (name: string): number | undefined => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined
    return value === undefined ? undefined : typeof value === 'number' ? value : Number.NaN
  }
  const issued = time('iat')
  const from = time('nbf')
  const until = time('exp')
  if (ageSecondsMax !== undefined) {
    if (issued === undefined) return false
    if (!(Math.floor(now) - issued <= ageSecondsMax)) return false
  }
  if (issued !== undefined && !(issued - now <= leewaySeconds)) return false
  if (from !== undefined && !(from - now <= leewaySeconds)) return false
  return until === undefined || now - until <= leewaySeconds
}

function findObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
