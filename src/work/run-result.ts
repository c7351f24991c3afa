/**
 * How a run of an event's handlers went, in a group and step by step alike. Types only.
 *
 * @module
 */

import type { FailureReason } from '../model/outcome.ts'
import type { RetryPolicy } from '../model/retry-policy.ts'
import type { StoreTrouble } from '../store/contract/store-trouble.ts'

export type RunResult = RunDone | RunSkipped | RunFailed

export interface RunTimes {
  /** The handlers' own time. */
  readonly durationMs: number
  /** By `performance.now()`; left out where that cannot be told. */
  readonly startedMs?: number | undefined
}

export interface RunDone extends RunTimes {
  readonly status: 'done'
  readonly result: string | undefined
  /** Whether it has written messages that can leave after COMMIT. */
  readonly hasSent: boolean
}

export interface RunSkipped extends RunTimes {
  readonly status: 'skipped'
  readonly reason: string
  readonly hasSent: boolean
}

export interface RunFailed extends RunTimes {
  readonly status: 'failed'
  readonly reason: FailureReason
  readonly error: Error
  /** The name of the handler that failed, where that can be told. */
  readonly handler: string | undefined
  /** When it runs again, by the handler that failed. */
  readonly retry: RetryPolicy
  /** Whether trying again cannot help. */
  readonly isPermanent: boolean
  /** What the store says of the error, where it is not the handler's own. */
  readonly trouble: StoreTrouble | undefined
}
