/**
 * What a store must do to receive events, and to answer for those that it has.
 *
 * @module
 */

import type { Digest } from '../../model/digest.ts'
import type { EventDraft, EventId, Recorded } from '../../model/event.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { SecretUse } from '../../model/secret-use.ts'

export interface EventStore {
  /** How many batches `record` can usefully have in flight at once. */
  readonly recordConcurrency: number

  /**
   * Stores what is new of the drafts in one transaction; one answer per draft, in their order. A request that
   * drafts are parts of is stored once, and not at all where none of them is stored.
   *
   * Within a batch no two drafts are the same in key, fingerprint, content hash and quarantine (the batcher has
   * collapsed those), but two may share a key and differ in content, or share content under two keys.
   *
   * Also a duplicate claims its content hash, where no event has it yet: for the event that it is a duplicate of.
   *
   * @throws StoreRejectedError when the database refuses a row: the caller sends them one by one
   * @throws StoreUnavailableError, CommitUnknownError
   */
  record(
    drafts: readonly EventDraft[],
    options: { deadlineMs: number },
  ): Promise<readonly Recorded[]>

  /**
   * Answers for drafts that are committed already with the same content, without waiting for a
   * writer; `undefined` for the others, which are to be recorded. Left out by an engine whose
   * `record` never waits for a handler.
   */
  findKnown?(drafts: readonly EventDraft[]): Promise<readonly (Recorded | undefined)[]>

  /** Whether `record` would have to wait for a handler of this process. Goes with `findKnown`. */
  isHeld?(): boolean

  /**
   * Confirms that what this process remembers of committed keys still holds.
   * @throws StoreUnavailableError
   */
  beat(since: Date | undefined): Promise<Beat>

  /**
   * Writes down the database's time, and finds out whether its clock was set back since it was written last.
   * Then everything that waits is moved by as much: it waits as long as it would have.
   *
   * Once a second for all processes together is enough. With `always` it is written in any case, to see whether
   * the store can write; only while a handler of this process has the store's only writer it is not.
   *
   * @throws StoreUnavailableError
   */
  keepClock(options: { always: boolean }): Promise<ClockKept>

  /** Keeps which history was seen, for a process that is started later. Goes with `Beat.history`. */
  keepHistory?(history: KeptHistory): Promise<void>

  /** Adds to the delivery counts. Best effort: called after the answers have left. */
  countDeliveries(counts: readonly DeliveryCount[]): Promise<void>

  /** Adds to how much secrets are used. Those with no deliveries are listed from then on, and nothing is added. */
  countSecretUses(uses: readonly SecretUse[]): Promise<void>

  /**
   * Whether what comes under this key would be a duplicate, or waits here for a person. It goes by the keys: an event
   * that was erased or pruned is known for as long as its key is, and one that was forgotten is not. Where a key has a
   * scope, that needs the hash: without it, such an event is known only while it is here with its key.
   */
  knowsKey(query: KeyQuery): Promise<boolean>

  /** How an event has ended, or where it is; `undefined` when there is no such event. */
  findOutcome(eventId: EventId): Promise<OutcomeView | undefined>

  /** Makes an event that waits for its next attempt due now. Does nothing for any other. */
  nudge(eventId: EventId): Promise<void>
}

export interface KeyQuery {
  readonly source: string
  /** As the sender has it. */
  readonly key: string
  /** That of a draft. Left out, that of the key without a scope. */
  readonly hash?: Digest
}

/** What `beat` found. Memory of committed keys holds only between two equal beats. */
export interface Beat {
  /** Changes when keys were dropped (forget, prune) or the database is not the one it was (restore, promotion). */
  readonly epoch: string
  /** The database's clock. Passed back as `since`. */
  readonly now: Date
  /** Events that died since the last beat (with some overlap): a redelivery of these must reach the database. */
  readonly died: readonly EventId[]
  /** Keys of events from before this time may have been pruned; `undefined` while none was. */
  readonly forgottenBefore?: Date | undefined
  /** How far this process's clock is ahead of the database's. */
  readonly skewMs: number
  /** On a database that can be replaced by an older state of itself while we are connected. */
  readonly history?: HistoryPoint
}

/** Where the history of a database stands. */
export interface HistoryPoint {
  /** Changes when a standby is promoted, or a backup restored to a point in time. */
  readonly id: string
  /** Whether COMMIT waits for a standby, which can then be promoted without a loss. */
  readonly isReplicated: boolean
  /**
   * How often this process has seen the end of what is on the disk go back: a copy of the files was put in the place
   * of the database, which has the same `id`.
   */
  readonly rewinds: number
  /**
   * When the server that answers was started, as text. A copy of the files is put back while it is down; and what it
   * writes from then on may soon reach further than what was lost, so that the end of it is not seen to have gone back.
   */
  readonly startedAt: string
  /** Changes when keys are dropped (forget, prune): an event that is missing then is no sign of anything. */
  readonly drops: string
  /** What was kept of it, and the time that was written down last before. */
  readonly kept: (KeptHistory & { readonly lastAt: Date | undefined }) | undefined
}

/** What is kept of a history in the database itself. */
export interface KeptHistory {
  readonly id: string
  readonly isReplicated: boolean
  /** When it was last noticed that the database had gone back, and between when events may be missing. */
  readonly wentBack?: { readonly since: Date; readonly until: Date }
}

export interface ClockKept {
  /** Whether anything was written. */
  readonly isWritten: boolean
  /** By how much the clock was found to be set back, and corrected for; 0 when it was not. */
  readonly wentBackMs: number
}

export interface DeliveryCount {
  readonly eventId: EventId
  /** What it was, where it was not what brought the event. */
  readonly outcome: 'duplicate' | 'conflict' | 'quarantined'
  readonly count: number
}

/** What `findOutcome` sees of an event that may still be on its way. */
export interface OutcomeView {
  readonly outcome: Outcome | undefined
  /** Failed attempts so far. */
  readonly attempts: number
  /** Parked, and why: no outcome will come by itself. */
  readonly parked: string | undefined
}
