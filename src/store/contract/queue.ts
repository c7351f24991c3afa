/**
 * What a store must do with events that wait to be worked on: say what is due, and hand it out.
 *
 * @module
 */

import type { EventId } from '../../model/event.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { Topic } from '../../model/topic.ts'
import type { TopicShare } from './claimed-event.ts'
import type { Group } from './group.ts'
import type { WorkerSlot } from './workers.ts'

export interface QueueStore<Tx> {
  /**
   * Refuses to run that many groups at once when it would leave too little for everything else. None: the
   * process only receives and sends messages.
   * @throws OptionInvalidError saying how many connections are needed
   */
  requireCapacity(groups: number): void

  /**
   * Claims due events; `undefined` when nothing is due. Never claims an event that another worker's record
   * lists as running. The transaction is open when it returns, unless the request lets it open late.
   */
  claim(request: ClaimRequest): Promise<Group<Tx> | undefined>

  /** Which topics have something due, a page of them, and when the next event of any topic will be. */
  look(request: LookRequest): Promise<Look>

  /**
   * Writes a failed attempt from outside the transaction that failed, for when that transaction is
   * gone (its COMMIT was refused, its connection was lost). Does nothing if the event has moved on
   * since: it is settled, taken by another worker, or its attempt count is no longer `attempt - 1`.
   * Says whether it wrote.
   */
  settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean>

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

  /**
   * Calls `wake` when another process has stored something, if the engine can tell. Returns how to stop. Never rejects
   * for a database that cannot: it is tried again, and `onHearing` is told once for each change, and nothing where all is
   * well from the beginning.
   */
  listen(wake: () => void, onHearing?: (hearing: Hearing) => void): Promise<() => Promise<void>>
  /** Tells other processes that there is something to do. Debounced by the caller, never inside a transaction. */
  notify(): Promise<void>
}

/** Whether other processes are heard. Where they are not, their work is found by looking now and then. */
export type Hearing = { readonly isUp: true } | { readonly isUp: false; readonly error: Error }

export interface ClaimRequest {
  readonly slot: WorkerSlot
  /**
   * - `fresh`: events that have never been tried and have no lane, oldest first.
   * - `head`: the same of those that are next in their lane.
   * - `again`: one event that has failed before.
   * - `suspect`: one event that was running when its worker died; at most one in the whole fleet.
   */
  readonly kind: Exclude<DueKind, 'leasable'>
  /** Whose events to take, in this order, and how many of each at most. */
  readonly topics: readonly TopicShare[]
  /** With so many the claim goes on to no further topic. */
  readonly enough: number
  /**
   * Whether events that are next behind the heads of fifo lanes come with them, in their order, as far as the limit of
   * the first topic leaves room. Only of `head`.
   */
  readonly fillsLanes: boolean
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

/** As in `ClaimRequest`; `leasable`: events of step handlers. */
export type DueKind = 'fresh' | 'head' | 'again' | 'suspect' | 'leasable'

export interface LookRequest {
  /** The topic after which to begin; -1 for the first. */
  readonly after: Topic
  /** Of each kind, how many topics at most. */
  readonly limit: number
  /**
   * Whether a suspect runs in the process that asks. Then it is told of the others as well, of which it runs one next.
   * Without it, suspects are left out while one runs anywhere: none could be claimed.
   */
  readonly runsSuspect?: boolean
}

export interface Look {
  /** What may be claimed or leased now. What a worker's record lists as running is left out. */
  readonly due: readonly DueTopic[]
  /** Until the next event is due, or has waited for long enough in its lane; `undefined` when none waits for a time. */
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

export interface ParkedEvent {
  readonly eventId: EventId
  readonly source: string
  readonly key: string
  readonly type: string
  readonly attempt: number
}
