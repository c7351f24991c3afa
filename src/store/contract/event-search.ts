/**
 * What a store must do for operators who look for events. Held by `test/inbox/finding-events.ts` and its neighbours.
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
import type { EventStory } from '../../model/event-story.ts'
import type { EventSummary } from '../../model/event-summary.ts'
import type { MessageRecord } from '../../model/message.ts'
import type { Outcome, PayloadState, RecordedFailure } from '../../model/outcome.ts'
import type { StepRecord } from '../../model/step.ts'

/** The part of a store that finds events. */
export interface EventSearchStore {
  /** Looks at events in one place, newest first, and says which of them fit. */
  walk(request: WalkRequest): Promise<readonly LookedEvent[]>
  /** The same for the events that a sender knows by this key, in every source. */
  walkKey(key: string, request: Omit<WalkRequest, 'place'>): Promise<readonly LookedEvent[]>
  /** Those of these events that are here, newest first. */
  summarize(ids: readonly EventId[]): Promise<readonly EventSummary[]>
  /** All that is kept of an event beside its record; each list is as long as `EventStory` says. */
  findStory(eventId: EventId): Promise<StoredStory | undefined>
  /** The messages with this idempotency key: one for each destination, 100 at most. */
  listMessagesByKey(key: string): Promise<readonly MessageRecord[]>
  /** So many steps of events up to this one, newest event first. */
  walkSteps(after: StepPosition, limit: number): Promise<readonly WalkedStep[]>
  /** The last failures of events that are dead, or wait for their next attempt: so many, latest first. */
  walkFailures(request: FailureWalk): Promise<readonly WalkedFailure[]>
  /** Looks at so many events that have come to rest, oldest first, and says which of them are done. */
  walkSettled(request: SettledWalk): Promise<readonly SettledEvent[]>
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
 * - a lane: those that are in it and have not come to rest, and the dead ones that hold it up.
 */
export type WalkPlace =
  | 'events'
  | 'queue'
  | 'running'
  | { readonly parked: ParkedState }
  | { readonly settled: Exclude<SettledState, 'done'> }
  | { readonly lane: { readonly source: string; readonly key: string } }

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

export interface SettledWalk {
  /** Ids above this one. */
  readonly after: EventId
  /** Ids below this one. */
  readonly below: EventId
  /** How many to look at. Fewer come back only where there are no more. */
  readonly limit: number
}

/** An event of which a run has come to rest. */
export interface SettledEvent {
  readonly id: EventId
  /** Its latest run that has come to rest. */
  readonly run: number
  /** Whether that run was done and none has been asked for since. */
  readonly isDone: boolean
  readonly payload: PayloadState
  /** Empty where the payload was pruned. */
  readonly source: string
  readonly type: string
}

export interface FailureWalk {
  /** `dead`: by when they died. `failed`: by when they are due again, the latest first. */
  readonly of: 'dead' | 'failed'
  /** Events that died at this time or later. Of those that failed all are looked at: when is in `failedAt`. */
  readonly since: Date
  /** The last one that was looked at. */
  readonly after: FailurePosition | undefined
  readonly limit: number
}

/** Where a walk over failures stands. */
export interface FailurePosition {
  /** As the store counts time. */
  readonly at: number
  readonly eventId: EventId
}

export interface WalkedFailure {
  readonly position: FailurePosition
  readonly source: string
  readonly failedAt: Date
  readonly reason: string
  readonly handler: string | undefined
  /** Cut at 1,024 characters. */
  readonly message: string
}

/** What a store keeps of an event, as rows. */
export interface StoredStory extends Pick<
  EventStory,
  'deliveries' | 'messages' | 'hasMoreMessages' | 'firstEventId' | 'beside'
> {
  /** The hash of its identity, as hex: its idempotency keys follow from it. */
  readonly keyHash: string
  readonly outcomes: readonly (Outcome & OfRun)[]
  readonly failures: readonly (RecordedFailure & OfRun)[]
  readonly steps: readonly (StepRecord & OfRun)[]
}

export interface OfRun {
  readonly run: number
}

/** Where a walk over steps stands: the next one comes after it, from newer events to older. */
export interface StepPosition {
  readonly eventId: EventId
  readonly run: number
  readonly handler: string
  readonly position: number
}

export interface WalkedStep extends StepPosition {
  readonly name: string
  /** Of its event, as hex. */
  readonly keyHash: string
}

export interface SearchedBody {
  readonly id: EventId
  readonly source: string
  readonly body: Uint8Array
  readonly headers: DeliveryHeaders
}
