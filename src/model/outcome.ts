import type { EventId } from './event.ts'
import type { EventState, SettledState } from './event-state.ts'

/** Why an attempt did not end in an outcome. */
export type FailureReason =
  /** The handler threw. */
  | 'error'
  /** The handler took longer than its `timeoutMs`. */
  | 'timeout'
  /** The connection to the database was lost while the handler ran. */
  | 'connection'
  /** The handler ended our transaction, or swallowed an error that aborted it. */
  | 'transaction'
  /** The database refused the COMMIT, for example by a deferred constraint. */
  | 'commit'
  /** The process died while the handler ran. */
  | 'crashed'
  /** The body is not what the handler's `schema` or the parser expects, or cannot be decrypted. */
  | 'payload'
  /** Its place in its lane cannot be found, or what it waited for did not come in time. */
  | 'order'
  /** The steps of the handler are no longer those of an earlier attempt. */
  | 'history'
  /** Whether an outside call has happened is not known, and calling again might do it twice. */
  | 'unknown'

/**
 * When the handlers of an event ran, on this process's own clock: `performance.now()`. A store keeps it as the
 * database's time.
 */
export interface RunSpan {
  readonly startedMs: number
  readonly endedMs: number
}

/** One failed run of the handlers for an event. Its texts have no NUL characters, and are cut at 8 KiB each. */
export interface FailedAttempt {
  readonly attempt: number
  readonly reason: FailureReason
  /** The error's name and message. What looks like a secret is left out, here and in the other texts. */
  readonly message: string
  /** The handlers' own time, without what they waited for the database's only writer. */
  readonly durationMs: number
  /** Left out where that cannot be told, as after a crash. */
  readonly ran?: RunSpan | undefined
  /** The name of the handler that failed; left out where that cannot be told, as after a crash. */
  readonly handler?: string | undefined
  /** Where the error was thrown, and its causes: a line for each call. */
  readonly stack?: string | undefined
  /** What the error names as its cause, and so on: name, message and code, a line each. */
  readonly cause?: string | undefined
}

/** A failed attempt as it is kept. */
export interface RecordedFailure extends Omit<FailedAttempt, 'ran'> {
  /** When the attempt began, by the database's clock; left out where that cannot be told, as after a crash. */
  readonly startedAt?: Date
  /** When it failed, by the database's clock. A crash: when it was found. */
  readonly failedAt: Date
}

/** What to write for an event at the end of its attempt. */
export type Settlement =
  | {
      readonly state: 'done'
      readonly eventId: EventId
      readonly run: number
      readonly attempt: number
      readonly durationMs: number
      readonly ran?: RunSpan | undefined
      /** The handler's return value as JSON text, if it returned one. */
      readonly result: string | undefined
      /** Lanes in which other events wait for one of its type. */
      readonly frees?: readonly FreedLane[]
    }
  | {
      readonly state: 'skipped'
      readonly eventId: EventId
      readonly run: number
      readonly attempt: number
      readonly durationMs: number
      readonly ran?: RunSpan | undefined
      readonly reason: string
    }
  | {
      readonly state: 'dead'
      readonly eventId: EventId
      readonly run: number
      readonly attempt: number
      readonly durationMs: number
      readonly reason: string
      readonly failure: FailedAttempt
    }
  | {
      readonly state: 'ready'
      readonly eventId: EventId
      readonly run: number
      /** The attempt that failed; the next one is this plus one. */
      readonly attempt: number
      readonly retryInMs: number
      readonly failure: FailedAttempt
    }
  | {
      readonly state: 'unhandled'
      readonly eventId: EventId
      readonly run: number
    }

/** A lane in which events wait until one of this type is done. */
export interface FreedLane {
  /** A UUID, as `ordering/lane-id.ts` makes them. */
  readonly id: string
  readonly source: string
  readonly key: string
  readonly type: string
}

/** When the attempt ran that a settlement ends, where that is known. */
export function ranOf(settlement: Settlement | { readonly state: string }): RunSpan | undefined {
  if ('failure' in settlement) return settlement.failure.ran
  return 'ran' in settlement ? settlement.ran : undefined
}

/** What is written once an event has come to rest. */
export interface Outcome {
  readonly state: SettledState
  readonly attempts: number
  /** When the last attempt began, by the database's clock; `undefined` where that cannot be told, as after a crash. */
  readonly startedAt: Date | undefined
  readonly durationMs: number
  readonly reason: string | undefined
  /** JSON text. */
  readonly result: string | undefined
  readonly settledAt: Date
}

/**
 * Whether the bytes of an event are kept: not past their retention, and not once they were erased. They are
 * `unreadable` where they are there and cannot be decrypted.
 */
export type PayloadState = 'kept' | 'pruned' | 'erased' | 'unreadable'

/** What a waiting event waits for. */
export interface Blocker {
  /** The event before it in its lane; `undefined` where none is known, as in a gap. */
  readonly eventId: EventId | undefined
  readonly state: EventState | undefined
  /** When that event runs again, or until when this one waits for what is missing. */
  readonly until: Date | undefined
  /** In words: "waiting for …". */
  readonly reason: string
}

/** An event as an operator sees it. */
export interface EventRecord {
  readonly id: EventId
  readonly source: string
  readonly key: string | undefined
  readonly type: string
  readonly state: EventState
  /** Why it is parked, dead or skipped. */
  readonly reason: string | undefined
  readonly attempts: number
  readonly crashes: number
  readonly nextRunAt: Date | undefined
  /**
   * Whether its body and headers are still there. Of one whose payload was `pruned` only the id, the state, the
   * outcome and the time are known, and its other texts are empty; one that was `erased` has lost its key as well. Of
   * one that is `unreadable` body and headers are empty here.
   */
  readonly payload: PayloadState
  /**
   * The text that its handler's `order.lane` gave its lane, also when it has ended; `undefined` for one without a lane,
   * and for one that no worker has sorted yet.
   */
  readonly lane: string | undefined
  /** What it waits for, where it is asked for alone; `undefined` where it does not wait. */
  readonly blockedBy?: Blocker | undefined
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  /** What rises when the object changes, where the sender says so. Numbers as their digits, times in UTC. */
  readonly version: string | undefined
  /** The sender's count of its events, where it keeps one. */
  readonly sequence: string | undefined
  /** The label of the secret that verified it, never the secret itself. */
  readonly verifiedBy: string
  readonly outcome: Outcome | undefined
  /** Every attempt that failed, and every crash, oldest first. */
  readonly failures: readonly RecordedFailure[]
  /**
   * The one that brought it, which is not counted apart where it was accepted, and those after it.
   * Best effort: may lag a second, and lose a second in a crash.
   */
  readonly deliveries: number
}
