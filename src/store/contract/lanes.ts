/**
 * What a store must do for events that have an order.
 *
 * Rules for every store:
 *
 * - An event of an ordered topic runs after it was sorted, never before: a claim of `fresh` events sees those
 *   without a lane, one of `head` events those with one.
 * - Of a lane at most one event is not parked; the others are `waiting`. So a claim sees the heads of lanes, and what
 *   it costs does not grow with what waits behind them. `after` is the exception: its events do not wait for each
 *   other.
 * - Of a lane that is paused every event waits but one that a worker has in hand. One that comes back from a worker
 *   that has not settled it, or has a handler again, may be ready: no claim, no lease and no look sees it until the
 *   lane goes on.
 * - No function of a handler is called while anything is held: a caller reads events, decides, and has it written.
 * - Whatever changes a lane (sorting, settling, a crash, a deadline, an operator) makes the next event ready in the
 *   same transaction, under the lane's lock. A lane whose dead event is dead no longer goes on by `mendBlocked`.
 *
 * @module
 */

import type { EventId } from '../../model/event.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { Topic } from '../../model/topic.ts'
import type { Placement } from '../../ordering/place-event.ts'
import type { ClaimedEvent } from './claimed-event.ts'
import type { ParkedEvent, UnhandledTopic } from './queue.ts'

export interface LaneStore {
  /** The topics of a source that have events without a lane. Asked first, since the caller knows which have an order. */
  listUnsorted(source: string): Promise<readonly UnhandledTopic[]>

  /** The oldest events of these topics that have no lane, and `also`, as a caller needs them to tell their places. */
  readUnsorted(request: UnsortedRequest): Promise<readonly ClaimedEvent[]>

  /**
   * Puts events into their lanes, in one transaction. One sorter of a source writes at a time, and nothing is held
   * before: what has changed since the events were read is found here.
   */
  sort(request: SortRequest): Promise<SortResult>

  /** Of which topics there are events that have waited for as long as their order says. */
  listLate(): Promise<readonly LateTopic[]>

  /**
   * Decides about events of these topics that have waited for as long as their order says. The caller has sorted what
   * was stored until then: a number that is not sorted yet is not missing. Nor is what an event requires, as long as
   * one of that type was stored in time and was not tried yet: in which lane it is, is known when it has run.
   */
  passDeadlines(request: DeadlineRequest): Promise<readonly PassedDeadline[]>

  /**
   * Lets lanes go on whose dead event is dead no longer: it was discarded, forgotten, or pruned. At most `limit`
   * lanes; says how many.
   */
  mendBlocked(limit: number): Promise<number>

  /** What is to be told of lanes, in the order in which it happened, at most `limit`. Handed out once. */
  takeNews(limit: number): Promise<readonly LaneNews[]>
}

export interface UnsortedRequest {
  readonly source: string
  /** The topics whose events have an order. */
  readonly topics: readonly Topic[]
  readonly limit: number
  /** Events that were tried before they had an order. They are sorted with the others. */
  readonly also: readonly EventId[]
}

export interface SortRequest extends UnsortedRequest {
  /** Topics of the source whose events have no order. */
  readonly unordered: readonly Topic[]
  /** What the caller has found out about events that it has read. */
  readonly decided: readonly DecidedEvent[]
}

/** Where an event belongs, or how it ends where that cannot be told. */
export interface DecidedEvent {
  readonly event: ClaimedEvent
  readonly becomes: Placement | DeadSettlement
}

export type SortResult =
  /**
   * Those that were written: up to the first one that is not decided. One that was stored meanwhile may be older than
   * others of its lane, and comes before them.
   */
  | { readonly status: 'sorted'; readonly events: readonly DecidedEvent[] }
  /** A topic has appeared that the caller has not seen: nothing was written. */
  | { readonly status: 'changed' }
  /** Another sorter of the source is at it: nothing was written. */
  | { readonly status: 'busy' }

export type DeadSettlement = Extract<Settlement, { state: 'dead' }>

/** A topic with events whose time to wait is over. */
export interface LateTopic extends UnhandledTopic {
  /** In `after`, the type that they wait for. */
  readonly requires: string | undefined
}

export interface DeadlineRequest {
  readonly late: readonly LateTopic[]
  /** How many are decided about at most. */
  readonly limit: number
}

/** An event whose time to wait is over. */
export interface PassedDeadline extends ParkedEvent {
  readonly becomes: 'ready' | 'dead'
  /** What is missing. */
  readonly reason: string
}

/** A dead event holds up its lane, or does so no longer. */
export interface LaneNews {
  readonly source: string
  /** What the handler's `lane` returned. */
  readonly lane: string
  readonly mode: 'fifo' | 'sequence'
  /** The event that holds it up, or did. */
  readonly eventId: EventId
  readonly isBlocked: boolean
}
