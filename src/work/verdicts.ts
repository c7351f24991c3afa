/**
 * What a handler can say besides returning or throwing: `skip`, `permanent` and `retryAfter`.
 *
 * @module
 */

import { requireInteger } from '../errors.ts'

/** What `skip` returns. A handler returns it on. */
export class Skip {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

/** What `permanent` returns. A handler throws it. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
}

/** What `retryAfter` returns. A handler throws it. */
export class RetryAfterError extends Error {
  override readonly name = 'RetryAfterError'
  readonly retryInMs: number

  constructor(retryInMs: number, reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.retryInMs = retryInMs
  }
}

/**
 * Nothing to do for this event: `return skip('not one of our customers')`.
 *
 * The event ends as `skipped`, with the reason. What the handler wrote through `tx` before is kept.
 */
export function skip(reason: string): Skip {
  return new Skip(reason)
}

/**
 * Trying again cannot help: `throw permanent('the amount is negative')`.
 *
 * The event is `dead` now, for a person to look at; what the handler wrote through `tx` is rolled back.
 */
export function permanent(reason: string, options?: ErrorOptions): PermanentError {
  return new PermanentError(reason, options)
}

/**
 * Try again, but not before: `throw retryAfter(60_000)`.
 *
 * Counts as a failed attempt; what the handler wrote through `tx` is rolled back.
 */
export function retryAfter(
  retryInMs: number,
  reason = 'The handler asked to be called later',
  options?: ErrorOptions,
): RetryAfterError {
  requireInteger('retryAfter', retryInMs, { min: 0, max: 2_592_000_000 })
  return new RetryAfterError(retryInMs, reason, options)
}
