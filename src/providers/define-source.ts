/**
 * The skeleton every provider hangs on: provider data and the caller's options in, a source out.
 *
 * A provider is one file: first its facts as data, then the payload types, then the little code
 * that reads its headers and body. Most sign with HMAC and need only `defineHmacSource`.
 *
 * @module
 */

import { OptionInvalidError, rejectUnknownKeys, requireInteger, requireOneOf } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import type {
  EventMap,
  Identified,
  SameBytesPolicy,
  Source,
  SourceOptions,
  SuccessAnswer,
  Verdict,
  VerdictReason,
} from '../model/source.ts'
import type { SignatureEncoding } from '../verify/decode.ts'
import { hmacSigner } from '../verify/hmac.ts'
import type { HmacAlgorithm } from '../verify/hmac.ts'
import { resolveSecrets } from '../verify/secrets.ts'
import type { Secret, SecretEncoding } from '../verify/secrets.ts'
import { compileSignedTemplate } from '../verify/signed-template.ts'
import type { TimestampRule } from '../verify/timestamp.ts'
import { verifyDelivery } from '../verify/verify-delivery.ts'
import type { Claim, Scheme } from '../verify/verify-delivery.ts'

/** What is known of a provider, whoever configures it. */
export interface ProviderFacts {
  readonly provider: string
  /** Every header that verification or identification reads. */
  readonly securityHeaders: readonly string[]
  readonly retryWindowHours: number | null
  readonly sameBytes: SameBytesPolicy
  /** `empty` for senders that read meaning into a body. */
  readonly successBody?: SuccessAnswer['body']
}

/** What a provider does. */
export interface ProviderParts {
  readonly warnings: readonly string[]
  readonly verify: (delivery: Delivery) => Verdict
  readonly identify: (delivery: Delivery) => Identified
}

/** A provider that signs with HMAC. */
export interface HmacProvider extends ProviderFacts {
  readonly algorithm: HmacAlgorithm
  readonly encoding: SignatureEncoding
  readonly secretEncoding: SecretEncoding
  /** `undefined` for a provider that signs no timestamp. */
  readonly timestamp: TimestampRule | undefined
  /** What is signed, see `verify/signed-template.ts`. */
  readonly signed: string
  readonly readClaim: (delivery: Delivery) => Claim | VerdictReason
  readonly identify: (delivery: Delivery) => Identified
}

/** What a provider with shared secrets is configured with. */
export interface SecretOptions extends SourceOptions {
  /** The signing secrets. Several are tried in order, for a rotation. */
  readonly secrets: readonly Secret[]
  /**
   * How old the signed timestamp may be, and how far ahead of our clock.
   * Without effect, and warned about, for a provider that signs no timestamp.
   *
   * @defaultValue 300
   */
  readonly toleranceSeconds?: number
}

export const SOURCE_OPTION_KEYS = ['acknowledge', 'redelivery', 'status', 'sameBytes'] as const
export const SECRET_OPTION_KEYS = ['secrets', 'toleranceSeconds', ...SOURCE_OPTION_KEYS] as const

export function defineHmacSource<Events extends EventMap>(
  provider: HmacProvider,
  options: SecretOptions,
): Source<Events> {
  requireOptions(provider.provider, options, SECRET_OPTION_KEYS)
  const resolved = resolveSecrets(provider.provider, options.secrets, provider.secretEncoding)
  const scheme = defineScheme(provider, options.toleranceSeconds)
  const findSigner = hmacSigner(resolved.secrets, provider)
  return defineSource<Events>(provider, options, {
    warnings: [...resolved.warnings, ...listToleranceWarnings(provider, options)],
    verify: (delivery) => verifyDelivery(scheme, findSigner, delivery),
    identify: provider.identify,
  })
}

/** The scheme of a provider, with the caller's tolerance in place of its own. */
export function defineScheme(
  { provider, readClaim, signed, timestamp }: HmacProvider,
  toleranceSeconds: number | undefined,
): Scheme {
  const rule =
    toleranceSeconds === undefined
      ? timestamp
      : withTolerance(provider, timestamp, toleranceSeconds)
  const hasTimestamp = timestamp !== undefined
  return {
    readClaim,
    timestamp: rule,
    signed: compileSignedTemplate(`${provider}.signed`, signed, { hasTimestamp }),
  }
}

export function defineSource<Events extends EventMap>(
  facts: ProviderFacts,
  options: SourceOptions,
  { warnings, verify, identify }: ProviderParts,
): Source<Events> {
  const {
    acknowledge = 'stored',
    redelivery = 'retry',
    status = 200,
    sameBytes = facts.sameBytes,
  } = options
  requireOneOf(`${facts.provider}.acknowledge`, acknowledge, ['stored', 'processed'])
  requireOneOf(`${facts.provider}.redelivery`, redelivery, ['retry', 'count'])
  requireOneOf(`${facts.provider}.status`, status, [200, 202, 204])
  requireOneOf(`${facts.provider}.sameBytes`, sameBytes, ['quarantine', 'duplicate', 'run'])
  return Object.freeze({
    provider: facts.provider,
    securityHeaders: Object.freeze([...new Set(facts.securityHeaders)]),
    acknowledge,
    redelivery,
    sameBytes,
    success: Object.freeze({ status, body: facts.successBody ?? 'json' }),
    retryWindowHours: facts.retryWindowHours,
    warnings: Object.freeze([...warnings]),
    verify,
    identify,
  })
}

/** An object with none but known names. JavaScript callers may have passed anything. */
export function requireOptions(path: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new OptionInvalidError(path, `an object with ${known.join(', ')}`, options)
  }
  rejectUnknownKeys(path, options, known)
}

/** A day at most: past that, an old signature is as good as a fresh one. */
export function requireTolerance(
  option: string,
  toleranceSeconds: unknown,
): asserts toleranceSeconds is number {
  requireInteger(option, toleranceSeconds, { min: 1, max: 86_400 })
}

function withTolerance(
  provider: string,
  rule: TimestampRule | undefined,
  toleranceSeconds: number,
): TimestampRule | undefined {
  requireTolerance(`${provider}.toleranceSeconds`, toleranceSeconds)
  return rule && { ...rule, toleranceSeconds }
}

function listToleranceWarnings(
  { provider, timestamp }: HmacProvider,
  { toleranceSeconds }: SecretOptions,
): readonly string[] {
  if (timestamp !== undefined || toleranceSeconds === undefined) return []
  return [`${provider} signs no timestamp, so its toleranceSeconds has no effect.`]
}
