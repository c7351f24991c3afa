/**
 * Everything that can happen, as one typed map. Logs, metrics and traces hang on it.
 *
 * A happening carries ids and labels, never a body and never a secret. Keys and types are the
 * sender's text: whoever prints them escapes them (`telemetry/escape-text.ts`).
 *
 * @module
 */

import type { EventId } from '../model/event.ts'
import type { FailureReason } from '../model/outcome.ts'
import type { VerdictReason } from '../model/source.ts'

interface AboutDelivery {
  readonly source: string
  readonly eventId: EventId
  readonly key: string | undefined
  readonly type: string
}

interface AboutEvent {
  readonly source: string
  readonly eventId: EventId
  readonly key: string
  readonly type: string
  readonly attempt: number
}

export interface Happenings {
  'delivery.accepted': AboutDelivery
  /** `from`: where it was noticed. `memory` and `flight` cost no statement. */
  'delivery.duplicate': AboutDelivery & { readonly from: 'memory' | 'flight' | 'store' }
  /** A redelivery of a dead event: it was queued again. */
  'delivery.revived': AboutDelivery
  'delivery.conflict': AboutDelivery
  'delivery.quarantined': AboutDelivery & { readonly reason: string }
  'delivery.refused': { readonly source: string; readonly reason: VerdictReason }
  /** A sender checked the endpoint and was answered; nothing was stored. */
  'delivery.handshake': { readonly source: string; readonly status: number }
  'delivery.malformed': { readonly source: string; readonly reason: string }
  /** Answered 503: nothing is known to be stored. */
  'delivery.unavailable': { readonly source: string; readonly error: Error }
  'delivery.body-parsed': { readonly source: string; readonly hint: string }

  'event.done': AboutEvent & { readonly durationMs: number; readonly result: string | undefined }
  'event.skipped': AboutEvent & { readonly durationMs: number; readonly reason: string }
  'event.failed': AboutEvent & {
    readonly reason: FailureReason
    readonly error: Error
    readonly retryInMs: number
  }
  'event.dead': AboutEvent & { readonly reason: string; readonly error: Error | undefined }
  'event.unhandled': AboutEvent
  /** It was running when its worker died. */
  'event.crashed': {
    readonly eventId: EventId
    readonly crashes: number
    readonly dead: boolean
    readonly workerId: string
  }

  /**
   * A call of a step handler was started by an earlier attempt and has no result: it may have happened.
   * `found` is what `reconcile` says; after `nothing` it is made again with the same key, or stops as unknown.
   */
  'step.uncertain': AboutEvent & {
    readonly step: string
    readonly starts: number
    readonly startedAt: Date
    readonly found: 'happened' | 'did not happen' | 'nothing'
  }
  /** This worker stood still and another one has the event, or may have it: what it still wrote was refused. */
  'lease.lost': AboutEvent & { readonly token: number }
  /** A leased event was let go without an outcome or a lost attempt. */
  'lease.released': { readonly eventId: EventId; readonly cause: string }

  /** A group was run again one by one because of one of its events. */
  'group.rerun': { readonly size: number; readonly cause: Error }
  /** The connection was lost at COMMIT: done or not, the queue knows. */
  'group.commit-unknown': { readonly size: number; readonly error: Error }
  /** Events were let go without an outcome or a lost attempt: they run again at once. */
  'group.released': { readonly size: number; readonly cause: string }

  'worker.started': { readonly workerId: string; readonly concurrency: number }
  'worker.stopped': { readonly workerId: string }
  /** Claiming, beating or sweeping failed; it is tried again. */
  'worker.error': { readonly workerId: string; readonly doing: string; readonly error: Error }

  /**
   * The worker's heart stood still for longer than `deadAfterMs`: its event loop was blocked, its machine
   * slept, or the database was away. Others may have taken its leases.
   */
  'worker.late': {
    readonly workerId: string
    readonly stoodStillMs: number
    readonly deadAfterMs: number
  }

  'store.commit-unknown': { readonly error: Error }
  'store.unavailable': { readonly error: Error }
  'store.available': { readonly downMs: number }
  /** This process's clock and the database's differ: signatures with timestamps will look stale. */
  'clock.skewed': { readonly skewMs: number }
  /** The database's clock was set back: hearts that beat in its future were corrected. */
  'clock.went-back': { readonly workerId: string }
  'source.warning': { readonly source: string; readonly warning: string }
}

export type HappeningName = keyof Happenings
