/**
 * What a store must do for those who look for events. Held by `test/store/contract/event-search.ts`.
 *
 * Rules for every store:
 *
 * - Every question says how many rows it may look at, and the store looks at no more. A search goes on by asking
 *   again from where it stopped (`admin/list-events.ts`), so that no question holds up a worker or a sender.
 * - The order is that of the ids, newest first. An id begins with the database's time at which the event was stored.
 * - Whatever a sender wrote is data. Any text finds something or nothing, and breaks nothing.
 *
 * @module
 */

import type { DeliveryHeaders } from '../../model/delivery.ts'
import type { EventId } from '../../model/event.ts'
import type { ParkedState, SettledState } from '../../model/event-state.ts'
import type { EventSummary } from '../../model/event-summary.ts'

/** The part of a store that finds events. */
export interface EventSearchStore {
  /** Looks at events in one place, newest first, and says which of them fit. */
  walk(request: WalkRequest): Promise<readonly LookedEvent[]>
  /** The same for the events that a sender knows by this key, in every source. */
  walkKey(key: string, request: Omit<WalkRequest, 'place'>): Promise<readonly LookedEvent[]>
  /** Those of these events that are here, newest first. */
  summarize(ids: readonly EventId[]): Promise<readonly EventSummary[]>
  /** The bodies of the first of these events that fit into so many bytes together; of the first one always. */
  readBodies(ids: readonly EventId[], bytesMax: number): Promise<readonly SearchedBody[]>
}

/**
 * Where to look. Each is the range of one index:
 *
 * - `events`: all of them.
 * - `queue`: those that are not at rest.
 * - `running`: those that a worker has in hand.
 * - a parked state, or a state of rest other than `done`: those and no other.
 */
export type WalkPlace =
  | 'events'
  | 'queue'
  | 'running'
  | { readonly parked: ParkedState }
  | { readonly settled: Exclude<SettledState, 'done'> }

export interface WalkRequest {
  readonly place: WalkPlace
  /** Ids below this one. */
  readonly below: EventId
  /** Ids from this one on. */
  readonly from: EventId
  /** How many to look at. Fewer come back only where there are no more. */
  readonly limit: number
  readonly source?: string | undefined
  readonly type?: string | undefined
  /** Somewhere in what its failed attempts say, or in the reason of its state. Big and small ASCII letters are one. */
  readonly text?: string | undefined
}

/** An event that was looked at, and what is known of it where it fits. */
export interface LookedEvent {
  readonly id: EventId
  readonly summary: EventSummary | undefined
}

export interface SearchedBody {
  readonly id: EventId
  readonly body: Uint8Array
  readonly headers: DeliveryHeaders
}
