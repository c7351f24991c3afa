/**
 * Everything that can happen, as one typed map. Logs, metrics and traces hang on it.
 *
 * A happening carries ids and labels, never a body and never a secret. Keys and types are the
 * sender's text: a listener that prints them escapes them (`telemetry/escape-text.ts`).
 *
 * @module
 */

import type { AcknowledgementOutcome } from '../model/acknowledgement.ts'
import type { EventId } from '../model/event.ts'
import type { MessageFailureReason, MessageId } from '../model/message.ts'
import type { FailureReason } from '../model/outcome.ts'
import type { QuarantineReason } from '../model/quarantine-reason.ts'
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

interface AboutLane {
  readonly source: string
  /** What the handler's `order.lane` returned. */
  readonly lane: string
  readonly mode: 'fifo' | 'sequence'
  /** The event that holds it up, or did. */
  readonly eventId: EventId
}

interface AboutGuarded {
  readonly source: string
  readonly key: string
}

interface AboutMessage {
  readonly messageId: MessageId
  readonly destination: string
  /** The idempotency key. */
  readonly key: string
  readonly attempt: number
  readonly eventId: EventId | undefined
}

/** Everything that can happen, by its name, with what is told about it. `docs/reference/happenings.md` says when. */
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
  /**
   * A sender has its answer, whatever it is; what it was for is told apart. Once for a delivery, also for one with many
   * events. `source` is empty where there is none of that name. `durationMs` is from the whole body to the answer, and
   * `undefined` where the body was not read to its end.
   */
  'delivery.answered': {
    readonly source: string
    readonly outcome: AcknowledgementOutcome
    readonly durationMs: number | undefined
  }

  'event.done': AboutEvent & { readonly durationMs: number; readonly result: string | undefined }
  'event.skipped': AboutEvent & { readonly durationMs: number; readonly reason: string }
  'event.failed': AboutEvent & {
    readonly reason: FailureReason
    /** The name of the handler that failed, where that can be told. */
    readonly handler: string | undefined
    readonly error: Error
    readonly retryInMs: number
  }
  'event.dead': AboutEvent & {
    readonly reason: string
    readonly handler: string | undefined
    readonly error: Error | undefined
  }
  'event.unhandled': AboutEvent
  /** The event was running when its worker died. */
  'event.crashed': {
    readonly eventId: EventId
    readonly source: string
    readonly type: string
    readonly key: string
    /** The attempt that was running. In handlers of `on` the next one has the same number: a crash is counted apart. */
    readonly attempt: number
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
  /** A leased event was given back without an outcome or a lost attempt. */
  'lease.given-back': { readonly eventId: EventId; readonly cause: string }

  /**
   * A dead event holds up its lane: what is behind it waits. In a `sequence` it is the event behind a gap that lasted
   * too long. Told within about a second, by one worker of all that share the database.
   */
  'lane.blocked': AboutLane
  /** The event is no longer dead, since an operator has retried, discarded or forgotten it, and the lane goes on. */
  'lane.freed': AboutLane

  /** A group was run again one by one because of one of its events. */
  'group.rerun': { readonly size: number; readonly cause: Error }
  /**
   * The connection was lost at COMMIT. The events are done if it succeeded; if not, they are still in the queue and
   * run again.
   */
  'group.commit-unknown': { readonly size: number; readonly error: Error }
  /** Events were given back without an outcome or a lost attempt: they run again at once. */
  'group.given-back': { readonly size: number; readonly cause: string }

  /**
   * An event was stored that a handler of this process is for, and neither `start()` nor `runDue()` was called here yet:
   * nothing runs it, unless another process does.
   */
  'worker.not-started': { readonly source: string; readonly hint: string }
  /**
   * What earlier processes have left, looked at once when the inbox starts, and told where there is any of it. Counted up
   * to 1,000. `admin.findUnfinished()` has more of it.
   */
  'inbox.found-at-start': {
    /** Events in the hands of workers that give no sign of life. */
    readonly leftRunning: number
    /** Messages that may have arrived, and are sent again under their keys or checked. */
    readonly uncertainMessages: number
    /** Messages that may have arrived, and wait for a person. */
    readonly unknownMessages: number
    /** Lanes that a dead event holds up. */
    readonly blockedLanes: number
    /** Lanes in which a number is missing. */
    readonly gaps: number
  }
  'worker.started': { readonly workerId: string; readonly concurrency: number }
  'worker.stopped': { readonly workerId: string }
  /** Claiming, beating or sweeping failed; it is tried again. */
  'worker.error': { readonly workerId: string; readonly doing: string; readonly error: Error }

  'message.sent': AboutMessage & { readonly durationMs: number }
  'message.failed': AboutMessage & {
    readonly reason: MessageFailureReason
    /** What happened, in words. */
    readonly detail: string
    readonly retryInMs: number
  }
  'message.dead': AboutMessage & { readonly reason: string }
  /** The message may have arrived, and sending it again could make it happen twice: a person decides. */
  'message.unknown': AboutMessage & { readonly reason: string }
  /** The message may have arrived, the destination ignores keys, and it is sent again because `onUncertain` says so. */
  'message.resent': AboutMessage
  /** Another relay has the message by now, so that what became of this attempt is not written. */
  'message.lease-lost': AboutMessage
  /** No relay sends anything to the destination until an operator resumes it. */
  'destination.paused': { readonly destination: string; readonly reason: string }
  /** This relay leaves the destination alone for a while: it does not answer, or it asked for a pause. */
  'destination.held': {
    readonly destination: string
    readonly forMs: number
    readonly cause: string
  }

  /** An operator of this process has changed something; the audit has the same. What was refused is not told. */
  'operator.acted': {
    /** The name of the method, such as `retry` or `pause`. */
    readonly action: string
    readonly subject: {
      readonly kind:
        'event' | 'message' | 'bulk' | 'retention' | 'source' | 'handler' | 'destination' | 'lane'
      readonly id: string
    }
    readonly actor: string | undefined
    readonly reason: string | undefined
  }

  'relay.started': { readonly relayId: string; readonly destinations: readonly string[] }
  'relay.stopped': { readonly relayId: string }
  /** Claiming or settling failed; it is tried again. */
  'relay.error': { readonly relayId: string; readonly doing: string; readonly error: Error }

  /**
   * The worker's heart stood still for longer than `deadAfterMs`: its event loop was blocked, its machine
   * slept, or the database was away. Others may have taken its leases, unless they were without it as well.
   */
  'worker.late': {
    readonly workerId: string
    readonly stoodStillMs: number
    readonly deadAfterMs: number
  }

  /**
   * A run of the pruner has ended, or met another: how much it removed, by table, and why where a person has said so.
   */
  'retention.pruned': {
    readonly events: number
    readonly requests: number
    readonly attempts: number
    readonly steps: number
    readonly deliveries: number
    readonly messages: number
    readonly runs: number
    readonly audit: number
    readonly bulks: number
    readonly keys: number
    readonly lanes: number
    readonly outcomes: number
    readonly discarded: number
    readonly partitions: number
    readonly reason?: string
  }
  /** A run of the pruner would have removed far more than usual, and has removed nothing: a person decides. */
  'retention.stopped': { readonly reason: string }
  /** The daily run failed; it is tried again an hour later. */
  'retention.error': { readonly error: Error }

  'store.commit-unknown': { readonly error: Error }
  /** The store does not answer or cannot write. Told once for each outage. */
  'store.unavailable': { readonly error: Error }
  'store.available': { readonly downMs: number }
  /**
   * This process gets no notifications of what other processes store: LISTEN fails, its connection was lost, or
   * nothing comes through it, as behind a pooler in transaction mode. Its worker and relay find what is due by looking
   * now and then, at most `pollMs` later. Told once, and tried again; `store.listen-restored` when it works.
   */
  'store.listen-lost': { readonly error: Error }
  'store.listen-restored': { readonly downMs: number }
  /**
   * The database was replaced by an older state of itself: a standby was promoted that may not have had everything, or
   * a backup was restored. `missing` of the `checked` events that this process stored last are gone. All destinations
   * were paused.
   */
  'store.went-back': {
    readonly since: Date
    readonly until: Date
    readonly missing: number
    readonly checked: number
    /** What to do. */
    readonly hint: string
  }
  /**
   * What is stored of an event or a message cannot be decrypted: it was changed in the database, or this process lacks
   * its key. Where it was changed the event or message is dead, or the event's step failed.
   */
  'store.decrypt-failed': {
    readonly eventId: string | undefined
    readonly messageId: string | undefined
    readonly error: Error
  }
  /** What the user should know of the database, told when the inbox starts. */
  'store.warning': { readonly warning: string }
  /** This process's clock and the database's differ: signatures with timestamps will look stale. */
  'clock.skewed': { readonly skewMs: number }

  /**
   * A call of `inbox.once` has a key that was used with another payload or fingerprint. Its work did not run, and nothing of
   * it is kept: only its caller has the payload. `eventId` is the first event's, `type` the call's.
   */
  'once.conflict': AboutGuarded & { readonly eventId: EventId; readonly type: string }

  /** The work ran and its mark is kept. */
  'guard.done': AboutGuarded & { readonly durationMs: number }
  'guard.duplicate': AboutGuarded
  /** Another delivery of the event runs its work now. The sender is told to come again. */
  'guard.busy': AboutGuarded & { readonly retryInMs: number }
  /** The work threw; its lease was given back. */
  'guard.failed': AboutGuarded & { readonly error: Error }
  /** The work is done and could not be marked: the next delivery runs it again. */
  'guard.unmarked': AboutGuarded & { readonly reason: 'lease-lost' | 'unavailable' }
  /** Redis was away and `whenUnavailable` is `run`: the work ran without any guard. */
  'guard.unguarded': AboutGuarded & { readonly error: Error }
  /** A duplicate whose content is not that of the first. It was not run and is not kept. */
  'guard.conflict': AboutGuarded
  /** A verified event that an inbox would keep for a person: it was not run, and its sender told to come again. */
  'guard.refused': {
    readonly source: string
    readonly type: string
    readonly reason: QuarantineReason
  }
  /** The work is done and marked, but its result is not kept. */
  'guard.result-dropped': AboutGuarded & { readonly reason: string }

  /** The database's clock was set back, by about as much: what waits was moved along with it. */
  'clock.went-back': { readonly backMs: number }
  'source.warning': { readonly source: string; readonly warning: string }
}

/** The name of something that can happen, such as `event.done`. */
export type HappeningName = keyof Happenings
