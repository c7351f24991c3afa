/**
 * What a store must do, for every phase that needs one.
 *
 * A store is done when the suite in `test/contract/` passes on it. The phases (`receive`, `work`)
 * know this file and no engine; an engine knows this file and no phase.
 *
 * Rules for every store:
 *
 * - `recordEvents` returns only after the rows are durable, and throws `CommitUnknownError` when
 *   nobody can tell. It never waits for a handler's transaction in order to answer a duplicate.
 * - What a handler writes through its `tx` and what `settle` writes become visible together or not
 *   at all.
 * - Times that decide anything (what is due, who is dead) are the database's.
 *
 * @module
 */

import type { EventDraft, EventId, Recorded } from '../model/event.ts'
import type { EventRecord, Outcome, Settlement } from '../model/outcome.ts'
import type { ClaimedEvent } from './claimed-event.ts'
import type { CommitResult, LentTx } from './lent-transaction.ts'
import type { OutboxStore } from './outbox-contract.ts'
import type { GroupLeaseRequest, LeasedEvent, StepsStore } from './steps-contract.ts'

export { bytesOf } from './claimed-event.ts'
export type { ClaimedEvent, StoredBody } from './claimed-event.ts'
export type { CommitResult, LentTx } from './lent-transaction.ts'

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
  /** Lets go of every connection it opened itself. The user's pool stays open. */
  close(): Promise<void>

  // ── receive ──────────────────────────────────────────────────────────────────────────────────

  /** How many batches `recordEvents` can usefully have in flight at once. */
  readonly recordConcurrency: number

  /**
   * Stores what is new of the drafts in one transaction; one answer per draft, in their order.
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
   * Answers for drafts that are committed already with the same content, without waiting for anybody
   * who writes; `undefined` for the others, which are to be recorded. Left out by an engine whose
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
   * Opens a transaction, claims due events in it and returns it open; `undefined` when nothing is due.
   * Never claims an event that another worker's record lists as running.
   */
  claimGroup(request: ClaimRequest): Promise<Group<Tx> | undefined>

  /**
   * Milliseconds until the earliest event that is not parked becomes due; `undefined` when none waits.
   * `exceptLeasable` for a worker that has no room for events of step handlers.
   */
  nextDueInMs(options?: { exceptLeasable: boolean }): Promise<number | undefined>

  /**
   * Writes a failed attempt from outside the transaction that failed, for when that transaction is
   * gone (its COMMIT was refused, its connection was lost). Does nothing if the event has moved on
   * since: it is settled, taken by another worker, or its attempt count is no longer `attempt - 1`.
   * Says whether it wrote.
   */
  settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean>

  /** Says which events a slot is about to run, on a connection of its own. Not durable against a crash of the machine. */
  announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void>
  /** Shows that the worker lives, for all its slots at once. Makes the records that are missing. */
  beatWorker(workerId: string, slots: number): Promise<void>
  /** Removes the worker's records. Leases that it still has are then a dead worker's. */
  removeWorker(workerId: string): Promise<void>
  /**
   * Finds workers whose heart stopped and counts a crash on what they were running: an event with
   * `crashesMax` crashes is settled `dead: crashed`, the others become suspects that run alone.
   * Leases of such workers are taken from them, and their events are due at once.
   */
  sweepWorkers(options: {
    deadAfterMs: number
    crashesMax: number
    me: string
  }): Promise<readonly SweptEvent[]>

  /** The (source, type) pairs of events parked as `unhandled`, a page of at most `limit`, in an order of the store's. */
  listUnhandled(page: { limit: number; after: string | undefined }): Promise<UnhandledPage>
  /** Makes the unhandled events of these pairs ready; returns how many, at most `limit`. */
  wakeUnhandled(pairs: readonly { source: string; type: string }[], limit: number): Promise<number>

  /** Calls `wake` when another process has stored something, if the engine can tell. Returns how to stop. */
  listen(wake: () => void): Promise<() => Promise<void>>
  /** Tells other processes that there is something to do. Debounced by the caller, never inside a transaction. */
  notify(): Promise<void>

  /** Now and then: things that keep the tables in shape, such as making the next partitions. */
  maintain(): Promise<void>

  // ── operators ────────────────────────────────────────────────────────────────────────────────

  /** The event with all that is known of it. */
  findEvent(eventId: EventId): Promise<EventRecord | undefined>
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

export interface UnhandledPage {
  readonly pairs: readonly { readonly source: string; readonly type: string }[]
  /** Where the next page begins; `undefined` when this was the last. */
  readonly next: string | undefined
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
  readonly kind: 'fresh' | 'again' | 'suspect'
  readonly limit: number
  /** Picks from the candidates, in their order, what shall run together. The rest is let go at once. */
  readonly choose: (candidates: readonly ClaimedEvent[]) => readonly ClaimedEvent[]
  /**
   * How long a handler in this group may wait for a row that somebody else holds; 0 for as long as its
   * timeout. Asked for after `choose`: one that runs alone holds nobody up.
   */
  readonly lockTimeoutMs: (chosen: readonly ClaimedEvent[]) => number
  /**
   * How long the transaction may sit idle before the database ends it, so that a frozen worker cannot
   * hold an event for ever. Asked for after `choose`, since it follows from the chosen handlers.
   */
  readonly idleTimeoutMs: (chosen: readonly ClaimedEvent[]) => number
}

/** Claimed events and the open transaction that holds them. Ends with `commit` or `abandon`, exactly once. */
export interface Group<Tx> {
  readonly events: readonly ClaimedEvent[]
  /** Lends the transaction to one handler run. */
  lend(): LentTx<Tx>
  /** Whether something was written through `tx.write` that was not sent yet. */
  hasWrites(): boolean
  /** Sends it and waits for the answers; throws if any of it failed. `rollbackTo` forgets what was not sent. */
  flush(): Promise<void>
  /** Sets a savepoint. Marks nest; `name` is one of ours, a plain word. */
  mark(name: string): Promise<void>
  rollbackTo(name: string): Promise<void>
  releaseMark(name: string): Promise<void>
  /** From now on, how long a statement may wait for a lock. 0: no limit of its own. */
  setLockTimeout(lockTimeoutMs: number): Promise<void>
  /**
   * - `open`: fine.
   * - `failed`: a statement failed and the transaction can only be rolled back to a mark.
   * - `ended`: somebody else ended the transaction. Nothing in it can be trusted.
   * - `lost`: the connection is gone.
   */
  status(): 'open' | 'failed' | 'ended' | 'lost'
  /** Stops the statement that is running, from another connection. For timeouts. */
  cancel(): Promise<void>
  /** Writes what became of the events. Throws if this is no longer the transaction that claimed them. */
  settle(settlements: readonly Settlement[]): Promise<void>
  commit(): Promise<CommitResult>
  /**
   * Leases the events, in their order, and ends the group: they run outside any transaction. What is
   * beyond the limit is left to `leaseDue`. Nothing may have been written in the group before.
   */
  lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]>
  /** Rolls back and lets the connection go; never throws. */
  abandon(): Promise<void>
}
