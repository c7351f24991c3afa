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
 * - Of a lane that is paused every event waits but one that a worker has in hand.
 * - Whatever changes a lane (sorting, settling, a crash, a deadline, an operator) makes the next event ready in the
 *   same transaction, under the lane's lock.
 *
 * @module
 */

import type { EventId } from '../../model/event.ts'
import type { Blocker, Settlement } from '../../model/outcome.ts'
import type { Placement } from '../../ordering/place-event.ts'
import type { ClaimedEvent } from './claimed-event.ts'
import type { ParkedEvent } from './queue.ts'

export interface LaneStore {
  /**
   * Puts events of a source that have no lane yet into theirs, oldest first, in one transaction. One sorter of a
   * source at a time; `undefined` when another one is at it.
   */
  sort(request: SortRequest): Promise<readonly SortedEvent[] | undefined>

  /** Decides about events that have waited for as long as their order says, at most `limit` of them. */
  passDeadlines(limit: number): Promise<readonly PassedDeadline[]>

  /**
   * Lets lanes go on whose dead event is dead no longer: it was discarded, forgotten, or pruned. At most `limit`
   * lanes; says how many.
   */
  mendBlocked(limit: number): Promise<number>

  /** What an event waits for; `undefined` when it does not wait. */
  findBlocker(eventId: EventId): Promise<Blocker | undefined>
}

export interface SortRequest {
  readonly source: string
  /** Whether events of this type have an order. */
  readonly isOrdered: (type: string) => boolean
  /**
   * Where an event belongs, or how it ends where that cannot be told. Called inside the transaction: it must not
   * throw, nor wait.
   */
  readonly place: (event: ClaimedEvent) => Placement | DeadSettlement
  readonly limit: number
  /** Events that were tried before they had an order. They are sorted with the others. */
  readonly also: readonly EventId[]
}

export type DeadSettlement = Extract<Settlement, { state: 'dead' }>

export interface SortedEvent {
  readonly event: ClaimedEvent
  /** Where no place was found for it. */
  readonly dead: DeadSettlement | undefined
}

/** An event whose time to wait is over. */
export interface PassedDeadline extends ParkedEvent {
  readonly becomes: 'ready' | 'dead'
  /** What is missing. */
  readonly reason: string
}
