import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'

/** When a failed event runs again: after `firstMs`, then each time `factor` longer, up to `maxMs`. */
export interface RetryOptions {
  /**
   * How many times an event is tried before it is dead for a person to look at. Crashes of the process
   * are counted apart.
   *
   * @defaultValue 12
   */
  readonly attemptsMax?: number
  /**
   * The wait after the first failure.
   *
   * @defaultValue 10_000
   */
  readonly firstMs?: number
  /**
   * How much longer each wait is than the one before.
   *
   * @defaultValue 3
   */
  readonly factor?: number
  /**
   * The longest wait.
   *
   * @defaultValue 72_000_000
   */
  readonly maxMs?: number
}

export type RetryPolicy = Readonly<Required<RetryOptions>>

/** Twelve attempts over about three days: 10 s, 30 s, 90 s, …, 6 h, 18 h, 20 h, 20 h. */
export const RETRY_DEFAULTS: RetryPolicy = Object.freeze({
  attemptsMax: 12,
  firstMs: 10_000,
  factor: 3,
  maxMs: 72_000_000,
})

export function resolveRetryPolicy(options: RetryOptions): RetryPolicy {
  rejectUnknownKeys('retry', options, Object.keys(RETRY_DEFAULTS))
  const policy = Object.freeze({ ...RETRY_DEFAULTS, ...options })
  requireInteger('retry.attemptsMax', policy.attemptsMax, { min: 1, max: 1_000 })
  requireInteger('retry.firstMs', policy.firstMs, { min: 0 })
  requireInteger('retry.maxMs', policy.maxMs, { min: 0, max: 2_592_000_000 })
  if (typeof policy.factor !== 'number' || !(policy.factor >= 1 && policy.factor <= 100)) {
    throw new OptionInvalidError('retry.factor', 'a number from 1 to 100', policy.factor)
  }
  return policy
}

/**
 * The wait before the next attempt, in milliseconds.
 *
 * The jitter is a fifth to both sides, so that events which failed together (a dependency was down)
 * do not come back together.
 */
export function backoffMs(
  policy: RetryPolicy,
  failedAttempt: number,
  random: () => number = Math.random,
): number {
  const wait = Math.min(policy.firstMs * policy.factor ** (failedAttempt - 1), policy.maxMs)
  return Math.round(wait * (0.8 + 0.4 * random()))
}
