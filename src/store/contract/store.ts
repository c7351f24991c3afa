/**
 * What a store must do, for every phase that needs one.
 *
 * A store is done when the suite in `test/contract/` passes on it. The phases (`receive`, `work`)
 * know this file and no engine; an engine knows this file and no phase.
 *
 * Rules for every store:
 *
 * - `recordEvents` returns only after the rows are durable, and throws `CommitUnknownError` when
 *   that is not known. It never waits for a handler's transaction in order to answer a duplicate.
 * - What a handler writes through its `tx` and what `settle` writes become visible together or not
 *   at all.
 * - Times that decide what is due are the database's. Who is dead is decided by those who watch
 *   (`work/heart-watch.ts`): a store tells where a heart stands, and not for how long.
 *
 * @module
 */

import type { EventDraft, EventId, Recorded } from '../../model/event.ts'
import type { EventRecord, Outcome, Settlement } from '../../model/outcome.ts'
import type { Topic } from '../../model/topic.ts'
import type { ClaimedEvent, TopicShare } from './claimed-event.ts'
import type { StoreTrouble } from './store-trouble.ts'
import type { CommitResult, HandlerClock, LentTx } from './transaction.ts'
import type { OutboxStore } from './messages.ts'
import type { GroupLeaseRequest, LeasedEvent, StepsStore } from './steps.ts'

export type { ClaimedEvent, TopicShare } from './claimed-event.ts'
export type { StoreTrouble } from './store-trouble.ts'
export type { CommitResult, HandlerClock, LentTx } from './transaction.ts'

/**
 * Where events, steps and messages are kept. Made by `sqliteStore` or `postgresStore`, and handed to
 * `createInbox`; what it does is the business of the inbox.
 */
export interface Store<Tx> extends OutboxStore<Tx>, StepsStore<Tx> {
  /** Which engine is behind it. */
  readonly engine: 'postgres' | 'sqlite'

  /**
   * Connects, migrates or checks the schema, and refuses settings that would break a promise.
   * Called once, before anything else. Safe to call from many processes at once.
   */
  open(): Promise<void>
  /** Known once it is open: what breaks no promise of ours and may surprise the user all the same. */
  readonly warnings?: readonly string[]
  /** Lets go of every connection and listener of its own, also when it could not be opened. The user's pool stays open. */
  close(): Promise<void>

  // ── receive ──────────────────────────────────────────────────────────────────────────────────

  /** How many batches `recordEvents` can usefully have in flight at once. */
  readonly recordConcurrency: number

  /**
   * Stores what is new of the drafts in one transaction; one answer per draft, in their order. A request that
   * drafts are parts of is stored once, and not at all where none of them is stored.
   *
   * Within a batch no two drafts have the same key and the same fingerprint (the batcher has
   * collapsed those), but two may share a key and differ in content, or share content under two keys.
   *
   * @throws StoreRejectedError when the database refuses a row: the caller sends them one by one
   * @throws StoreUnavailableError, CommitUnknownError
   */
  recordEvents(
    drafts: readonly EventDraft[],
    options: { deadlineMs: number },
  ): Promise<readonly Recorded[]>

  /**
   * Answers for drafts that are committed already with the same content, without waiting for
   * other writers; `undefined` for the others, which are to be recorded. Left out by an engine whose
   * `recordEvents` never waits for a handler.
   */
  findKnown?(drafts: readonly EventDraft[]): Promise<readonly (Recorded | undefined)[]>

  /** Whether `recordEvents` would have to wait for a handler of this process. Goes with `findKnown`. */
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

  /** Adds to the delivery counts. Best effort: called after the answers have left. */
  countDeliveries(counts: readonly DeliveryCount[]): Promise<void>

  /** How an event has ended, or where it is; `undefined` when there is no such event. */
  findOutcome(eventId: EventId): Promise<OutcomeView | undefined>

  /** Makes an event that waits for its next attempt due now. Does nothing for any other. */
  nudgeEvent(eventId: EventId): Promise<void>

  // ── work ─────────────────────────────────────────────────────────────────────────────────────

  /**
   * Refuses to run that many groups at once when it would leave too little for everything else. None: the
   * process only receives and sends messages.
   * @throws OptionInvalidError saying how many connections are needed
   */
  requireCapacity(concurrency: number): void

  /**
   * Claims due events; `undefined` when nothing is due. Never claims an event that another worker's record
   * lists as running. The transaction is open when it returns, unless the request lets it open late.
   */
  claimGroup(request: ClaimRequest): Promise<Group<Tx> | undefined>

  /** Which topics have something due, a page of them, and when the next event of any topic will be. */
  look(request: LookRequest): Promise<Look>

  /**
   * Writes a failed attempt from outside the transaction that failed, for when that transaction is
   * gone (its COMMIT was refused, its connection was lost). Does nothing if the event has moved on
   * since: it is settled, taken by another worker, or its attempt count is no longer `attempt - 1`.
   * Says whether it wrote.
   */
  settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean>

  /**
   * What an error means that a statement or a COMMIT has failed with, also where a library has wrapped it.
   * `undefined` when it is the work's own failure.
   */
  findTrouble(error: unknown): StoreTrouble | undefined

  /** Says which events a slot is about to run, on a connection of its own. Not durable against a crash of the machine. */
  announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void>
  /** Shows that the worker lives, for all its slots at once, and what it has handlers for. */
  beatWorker(beat: WorkerBeat): Promise<void>
  /** Removes the worker's records. Leases that it still has are then a dead worker's. */
  removeWorker(workerId: string): Promise<void>
  /** The hearts of all workers that have a record or a lease, as they stand now. */
  listHearts(): Promise<readonly Heart[]>
  /**
   * Counts a crash on what these workers were running: an event with `crashesMax` crashes is settled
   * `dead: crashed`, the others become suspects that run alone. Their leases are taken from them, and the
   * events are due at once. A worker whose heart has moved since it was listed is left alone.
   */
  sweepWorkers(options: {
    stopped: readonly Heart[]
    crashesMax: number
  }): Promise<readonly SweptEvent[]>

  /** What the workers have handlers for that have a record. A dead one has it until it is swept. */
  listHandled(): Promise<readonly HandledPattern[]>
  /** Parks events of these topics as `unhandled`, at most `limit` of them, and says which. */
  parkUnhandled(request: {
    kind: DueKind
    topics: readonly Topic[]
    limit: number
  }): Promise<readonly ParkedEvent[]>
  /** The topics of events that are parked as `unhandled`, in their order, from `after` on. */
  listUnhandled(page: { limit: number; after: Topic }): Promise<readonly UnhandledTopic[]>
  /** Makes the unhandled events of these topics ready; returns how many, at most `limit`. */
  wakeUnhandled(topics: readonly Topic[], limit: number): Promise<number>

  /** Calls `wake` when another process has stored something, if the engine can tell. Returns how to stop. */
  listen(wake: () => void): Promise<() => Promise<void>>
  /** Tells other processes that there is something to do. Debounced by the caller, never inside a transaction. */
  notify(): Promise<void>

  /** Now and then: things that keep the tables in shape, such as making the next partitions. */
  maintain(): Promise<void>

  // ── operators ────────────────────────────────────────────────────────────────────────────────

  /** The event with all that is known of it. */
  findEvent(eventId: EventId): Promise<EventRecord | undefined>
  /** The body of the whole request that brought the event. It is kept once, however many events were parts of it. */
  findRequest(eventId: EventId): Promise<Uint8Array | undefined>
  /** By the sender's key: the event, and the conflicts and quarantined ones kept beside it, oldest first. */
  listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]>
  /** How many events are stored, of one source or of all. */
  countEvents(source?: string): Promise<number>
  /** Drops the event's keys and bumps the epoch, so that the sender's redelivery runs afresh everywhere. */
  forgetEvent(eventId: EventId): Promise<boolean>
  /** The events that are `dead`, latest first. */
  listDead(limit: number): Promise<readonly EventRecord[]>
  /** Queues a dead event again with its attempts at zero. `false` when it is not dead. */
  retryEvent(eventId: EventId): Promise<boolean>
}

/** What `beat` found. Memory of committed keys holds only between two equal beats. */
export interface Beat {
  /** Changes when keys were dropped (forget, prune) or the database is not the one it was (restore, promotion). */
  readonly epoch: string
  /** The database's clock. Passed back as `since`. */
  readonly now: Date
  /** Events that died since the last beat (with some overlap): a redelivery of these must reach the database. */
  readonly died: readonly EventId[]
  /** How far this process's clock is ahead of the database's. */
  readonly skewMs: number
  /** On a database that can be replaced by an older state of itself while we are connected. */
  readonly history?: HistoryPoint
}

/** Where the history of a database stands. */
export interface HistoryPoint {
  /** Changes when a standby is promoted or a backup restored. */
  readonly id: string
  /** Whether COMMIT waits for a standby, which can then be promoted without a loss. */
  readonly isReplicated: boolean
}

export interface ClockKept {
  /** Whether anything was written. */
  readonly isWritten: boolean
  /** By how much the clock was found to be set back, and corrected for; 0 when it was not. */
  readonly wentBackMs: number
}

export interface DeliveryCount {
  readonly eventId: EventId
  readonly outcome: 'accepted' | 'duplicate' | 'conflict' | 'quarantined'
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

/** As in `ClaimRequest`; `leasable`: events of step handlers. */
export type DueKind = 'fresh' | 'again' | 'suspect' | 'leasable'

export interface LookRequest {
  /** The topic after which to begin; -1 for the first. */
  readonly after: Topic
  /** Of each kind, how many topics at most. */
  readonly limit: number
}

export interface Look {
  /** What may be claimed or leased now. What a worker's record lists as running is left out. */
  readonly due: readonly DueTopic[]
  /** Until the next event that is not due yet; `undefined` when none waits. */
  readonly nextDueInMs: number | undefined
  /** Where the next page begins; `undefined` when this was the last. */
  readonly next: Topic | undefined
}

export interface UnhandledTopic {
  readonly topic: Topic
  readonly source: string
  readonly type: string
}

export interface DueTopic extends UnhandledTopic {
  readonly kind: DueKind
}

/** A source and a type of event, or a pattern such as `invoice.*`, that a worker has a handler for. */
export type HandledPattern = readonly [source: string, pattern: string]

export interface WorkerBeat {
  readonly workerId: string
  readonly slots: number
  readonly handles: readonly HandledPattern[]
}

export interface ParkedEvent {
  readonly eventId: EventId
  readonly source: string
  readonly key: string
  readonly type: string
  readonly attempt: number
}

export interface WorkerSlot {
  readonly workerId: string
  readonly slot: number
}

export interface RunningEvent {
  readonly eventId: EventId
  /** Which attempt is about to run; a crash is counted only while the queue still says so. */
  readonly attempt: number
}

/** Where a worker's heart stood when it was looked at. */
export interface Heart {
  readonly workerId: string
  /** Another text after every beat; to be compared and nothing else. */
  readonly beat: string
  /** Dead whatever its heart says: its process is gone from this machine, or it has leases and no record. */
  readonly isGone: boolean
}

export interface SweptEvent {
  readonly eventId: EventId
  readonly source: string
  readonly type: string
  readonly key: string
  /** The attempt that was running. */
  readonly attempt: number
  readonly crashes: number
  readonly dead: boolean
  readonly workerId: string
}

export interface ClaimRequest {
  readonly slot: WorkerSlot
  /**
   * - `fresh`: events that have never been tried, oldest first.
   * - `again`: one event that has failed before.
   * - `suspect`: one event that was running when its worker died; at most one in the whole fleet.
   */
  readonly kind: Exclude<DueKind, 'leasable'>
  /** Whose events to take, in this order, and how many of each at most. */
  readonly topics: readonly TopicShare[]
  /** With so many the claim goes on to no further topic. */
  readonly enough: number
  /** How long a handler in a group of several may wait for a row that another transaction holds. */
  readonly lockTimeoutMs: number
  /**
   * How long the transaction may sit idle before the database ends it, so that a frozen worker cannot
   * hold an event for ever.
   */
  readonly idleTimeoutMs: number
  /**
   * Whether a store with one writer may open the transaction when it is first needed, by a handler's
   * statement or by `settle`, so that handlers that wait for the outside keep the writer from no other: `alone`
   * for a group of one event. Until then the worker's record is the claim. A store whose claim is the
   * transaction opens it at once all the same.
   */
  readonly opensLate: 'never' | 'alone' | 'always'
}

/**
 * Claimed events and the transaction that holds them. Ends with `commit` or `abandon`, exactly once.
 *
 * One that opens late looks then whether the events are still as they were claimed: a sweep, or an operator,
 * may have come between. Of an event that is not, nothing is kept.
 */
export interface Group<Tx> {
  readonly events: readonly ClaimedEvent[]
  /** Lends the transaction to one handler run, whose clock stands still while it waits for the writer. */
  lend(clock?: HandlerClock): LentTx<Tx>
  /** Whether something was written through `tx.write` that was not sent yet. */
  hasWrites(): boolean
  /** Sends it and waits for the answers; throws if any of it failed. `rollbackTo` forgets what was not sent. */
  flush(): Promise<void>
  /** Sets a savepoint. Savepoints nest; `name` is one of ours, a plain word. Opens nothing that is not open yet. */
  mark(name: string): Promise<void>
  rollbackTo(name: string): Promise<void>
  releaseMark(name: string): Promise<void>
  /** From now on, how long a statement may wait for a lock. 0: no limit of its own. */
  setLockTimeout(lockTimeoutMs: number): Promise<void>
  /**
   * - `open`: fine, or not opened yet.
   * - `failed`: a statement failed and the transaction can only be rolled back to a savepoint.
   * - `ended`: a handler, or a library, ended the transaction. Nothing in it can be trusted.
   * - `lost`: the connection is gone.
   * - `taken`: when it was to be opened, the events were no longer this worker's.
   */
  status(): 'open' | 'failed' | 'ended' | 'lost' | 'taken'
  /** Stops the statement that is running, from another connection. For timeouts. */
  cancel(): Promise<void>
  /**
   * What handlers have left in the session that the next event of the group would meet, in words: temporary
   * objects, settings, cursors. `undefined` when there is nothing. What is left when the group has ended is
   * cleaned up by the store, so that only several events in one transaction have to ask.
   */
  findTraces(): Promise<string | undefined>
  /**
   * Writes what became of the events. Throws if this is no longer the transaction that claimed them. Returns
   * those for which nothing was written, because they were taken before the transaction was opened.
   */
  settle(settlements: readonly Settlement[]): Promise<ReadonlySet<EventId>>
  commit(): Promise<CommitResult>
  /**
   * Leases the events, in their order, and ends the group: they run outside any transaction. What is
   * beyond the limit is left to `leaseDue`. Nothing may have been written in the group before.
   */
  lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]>
  /** Rolls back and lets the connection go; never throws. */
  abandon(): Promise<void>
}
