/**
 * A JSON Web Token in a header, with a claim that binds it to the delivery.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { Verdict, VerdictReason } from '../../model/source.ts'
import type { JwksPlace } from '../../verify/jwks.ts'
import { isJwtInTime, isJwtSignedBy, parseJwt } from '../../verify/jwt.ts'
import type { JwtAlgorithm, ParsedJwt } from '../../verify/jwt.ts'
import { isLive, resolveSecrets } from '../../verify/secrets.ts'
import type { ResolvedSecret, Secret } from '../../verify/secrets.ts'
import { isSameText } from '../../verify/token.ts'
import { jwkJudge, listJwkOptionNames } from './jwk-judge.ts'
import { requirePublicUrl } from './public-url.ts'
import type { BuildContext, BuiltVerification, Verification } from './verification.ts'

export type { JwkOptions } from './jwk-judge.ts'

/** How a provider signs with a JSON Web Token. */
export interface JwtSpec {
  readonly header: string
  /** What stands before the token, such as `JWT `. */
  readonly prefix?: string
  readonly algorithm: JwtAlgorithm
  /** Where the provider publishes its keys as a set. Left out, they are fetched one by one (`fetchKey`). */
  readonly jwks?: JwksPlace
  /** Claims that must have these values. */
  readonly claims?: Readonly<Record<string, string>>
  /** The claim with the SHA-256 of the body in hex. Without it the body is not covered. */
  readonly bodyHashClaim?: string
  /** What else the claims must say of the delivery. */
  readonly covers?: (
    claims: ParsedJwt['claims'],
    delivery: Delivery,
    context: { readonly publicUrl: string },
  ) => boolean
  readonly usesPublicUrl?: boolean
  /** How long after its `iat` a token counts; left out, `iat` is not asked for. */
  readonly ageSecondsMax?: number
}

/** A JSON Web Token in a header, by shared secrets (HS256) or the provider's keys (ES256, RS256). */
export function jwtSignature(spec: JwtSpec): Verification {
  const keys = spec.algorithm === 'HS256' ? ['secrets'] : listJwkOptionNames(spec)
  return {
    kind: 'jwt',
    spec,
    summary: `JSON Web Token (${spec.algorithm})`,
    headers: [spec.header],
    signedHeaders: [],
    signsBody: spec.bodyHashClaim !== undefined,
    optionNames: [
      ...keys,
      'toleranceSeconds',
      ...(spec.usesPublicUrl === true ? ['publicUrl'] : []),
    ],
    ...(spec.ageSecondsMax !== undefined && { toleranceSeconds: spec.ageSecondsMax }),
    build: (context) => build(spec, context),
  }
}

interface Judge {
  readonly secrets: readonly ResolvedSecret[]
  readonly warnings: readonly string[]
  /** The label of the key that signed the token. */
  findSigner(token: ParsedJwt, nowMs: number): Promise<{ readonly signer: string } | VerdictReason>
}

function build(spec: JwtSpec, context: BuildContext): BuiltVerification {
  const { algorithm, jwks } = spec
  const judge: Judge =
    algorithm === 'HS256'
      ? secretJudge(context)
      : { secrets: [], warnings: [], findSigner: jwkJudge({ algorithm, jwks }, context) }
  const { provider, options } = context
  const publicUrl =
    spec.usesPublicUrl === true ? requirePublicUrl(provider, options['publicUrl']) : ''
  const chosen = options['toleranceSeconds']
  const ageSecondsMax = typeof chosen === 'number' ? chosen : spec.ageSecondsMax
  return {
    secrets: judge.secrets,
    warnings: judge.warnings,
    verify: (delivery) => verifyJwt({ ...spec, publicUrl, ageSecondsMax }, judge, delivery),
  }
}

async function verifyJwt(
  spec: Omit<JwtSpec, 'ageSecondsMax'> & { publicUrl: string; ageSecondsMax: number | undefined },
  judge: Judge,
  delivery: Delivery,
): Promise<Verdict> {
  const { prefix = '' } = spec
  const value = findHeader(delivery, spec.header)
  if (value === undefined) return refuse('missing-header')
  if (!value.startsWith(prefix)) return refuse('malformed-header')
  const token = parseJwt(value.slice(prefix.length), spec.algorithm)
  if (typeof token === 'string') return refuse(token)

  const nowMs = delivery.receivedAt.getTime()
  const found = await judge.findSigner(token, nowMs)
  if (typeof found === 'string') return refuse(found)
  if (!isCovering(spec, token, delivery)) return refuse('bad-signature')
  const leewaySeconds = spec.ageSecondsMax ?? 300
  const isInTime = isJwtInTime(token.claims, nowMs, {
    leewaySeconds: Math.min(leewaySeconds, 300),
    ageSecondsMax: spec.ageSecondsMax,
  })
  return isInTime ? { ok: true, secret: found.signer } : refuse('stale')
}

function isCovering(
  spec: Pick<JwtSpec, 'claims' | 'bodyHashClaim' | 'covers'> & { readonly publicUrl: string },
  { claims }: ParsedJwt,
  delivery: Delivery,
): boolean {
  const claim = (name: string): string => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined
    return typeof value === 'string' ? value : ''
  }
  const wanted = Object.entries(spec.claims ?? {})
  if (!wanted.every(([name, value]) => isSameText(claim(name), value))) return false
  if (spec.bodyHashClaim !== undefined) {
    const digest = createHash('sha256').update(delivery.body).digest('hex')
    if (!isSameText(claim(spec.bodyHashClaim), digest)) return false
  }
  return spec.covers?.(claims, delivery, spec) ?? true
}

function secretJudge({ provider, options }: BuildContext): Judge {
  const given = options['secrets'] as readonly Secret[] | undefined
  const { secrets, warnings } = resolveSecrets(provider, given, 'utf8')
  return {
    secrets,
    warnings,
    findSigner(token, nowMs) {
      const secret = secrets.find(
        (one) => isLive(one, nowMs) && isJwtSignedBy(token, 'HS256', one.key),
      )
      return Promise.resolve(secret === undefined ? 'bad-signature' : { signer: secret.label })
    },
  }
}

function refuse(reason: VerdictReason): Verdict {
  return { ok: false, reason }
}
