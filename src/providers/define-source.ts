/**
 * The skeleton every source hangs on: facts and the caller's options in, a source out. A provider is
 * declared with `define-provider.ts`, which ends here.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { Delivery } from '../model/delivery.ts'
import type {
  EventMap,
  SameBytesPolicy,
  Source,
  SourceOptions,
  SuccessAnswer,
  Verdict,
} from '../model/source.ts'
import { createProber } from '../verify/prober.ts'
import { listSecretLabels, listShortSecrets } from '../verify/secrets.ts'
import type { ResolvedSecret, Secret } from '../verify/secrets.ts'

/** What is known of a provider, whatever its configuration. */
export interface ProviderFacts {
  readonly provider: string
  /** Every header that verification or identification reads. */
  readonly securityHeaders: readonly string[]
  readonly retryWindowHours: number | null
  readonly manualRedeliveryHours?: number | undefined
  readonly sameBytes: SameBytesPolicy
  /** `empty` for senders that read meaning into a body. */
  readonly successBody?: SuccessAnswer['body']
  /** The largest body it sends, where that is more than most. */
  readonly bodyBytesMax?: number | undefined
}

/** What a provider does. */
export interface ProviderParts {
  readonly warnings: readonly string[]
  /** Of which the labels are shown. Left out where nothing is signed. */
  readonly secrets?: readonly ResolvedSecret[]
  readonly verify: (delivery: Delivery) => Verdict | Promise<Verdict>
  readonly identify: Source['identify']
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

export const SOURCE_OPTION_KEYS = [
  'acknowledge',
  'redelivery',
  'status',
  'sameBytes',
  'bodyBytesMax',
] as const

export function defineSource<Events extends EventMap>(
  facts: ProviderFacts,
  options: SourceOptions,
  { warnings, secrets = [], verify, identify }: ProviderParts,
): Source<Events> {
  const {
    acknowledge = 'stored',
    redelivery = 'retry',
    status = 200,
    sameBytes = facts.sameBytes,
    bodyBytesMax = facts.bodyBytesMax,
  } = options
  requireOneOf(`${facts.provider}.acknowledge`, acknowledge, ['stored', 'processed'])
  requireOneOf(`${facts.provider}.redelivery`, redelivery, ['retry', 'count'])
  requireOneOf(`${facts.provider}.status`, status, [200, 202, 204])
  requireOneOf(`${facts.provider}.sameBytes`, sameBytes, ['quarantine', 'duplicate', 'run'])
  if (bodyBytesMax !== undefined) {
    requireInteger(`${facts.provider}.bodyBytesMax`, bodyBytesMax, { min: 1, max: 134_217_728 })
  }
  const prober = createProber(secrets)
  const shortSecrets = listShortSecrets(secrets)
  return Object.freeze({
    provider: facts.provider,
    securityHeaders: Object.freeze([...new Set(facts.securityHeaders)]),
    acknowledge,
    redelivery,
    sameBytes,
    success: Object.freeze({ status, body: facts.successBody ?? 'json' }),
    ...(bodyBytesMax !== undefined && { bodyBytesMax }),
    retryWindowHours: facts.retryWindowHours,
    ...(facts.manualRedeliveryHours !== undefined && {
      manualRedeliveryHours: facts.manualRedeliveryHours,
    }),
    warnings: Object.freeze([...warnings]),
    secretLabels: Object.freeze(listSecretLabels(secrets)),
    ...(shortSecrets.length > 0 && { shortSecrets: Object.freeze(shortSecrets) }),
    ...(prober !== undefined && { prober }),
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
