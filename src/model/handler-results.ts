/**
 * What a handler can say besides returning or throwing: `skip`, `permanent`, `retryAfter` and `notDone`.
 *
 * @module
 */

import { requireInteger } from '../options/require-integer.ts'

/** What `skip` returns. A handler returns it on. */
export class Skip {
  readonly reason: string

  /** What came out of a payload may be anything, whatever its type says. */
  constructor(reason: unknown) {
    this.reason = String(reason)
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

/** What `notDone` returns. A `step.call` throws it. */
export class NotDoneError extends Error {
  override readonly name = 'NotDoneError'
}

/**
 * What a handler returned. `permanent` and `retryAfter` are to be thrown: one that is returned means the
 * same, since "done" is what its handler cannot have meant.
 */
export function heed(returned: unknown): unknown {
  if (returned instanceof PermanentError || returned instanceof RetryAfterError) throw returned
  return returned
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
 *
 * @throws OptionInvalidError for a wait that is no whole number of milliseconds, or longer than 30 days
 */
export function retryAfter(
  retryInMs: number,
  reason = 'The handler asked to be called later',
  options?: ErrorOptions,
): RetryAfterError {
  requireInteger('retryAfter', retryInMs, { min: 0, max: 2_592_000_000 })
  return new RetryAfterError(retryInMs, reason, options)
}

/**
 * The other side answered that nothing has happened: `throw notDone('the carrier is closed: 503')`.
 *
 * For a `step.call`. Counts as a failed attempt like any other error, but leaves no doubt about the call:
 * how long its outcome has been uncertain counts from the next start.
 */
export function notDone(reason: string, options?: ErrorOptions): NotDoneError {
  return new NotDoneError(reason, options)
}
