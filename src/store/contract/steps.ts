/**
 * What a store must do for step handlers: leases, the steps an event has taken, and its end.
 *
 * Rules for every store:
 *
 * - A lease is committed before anything runs under it. Its token comes from the database and is larger
 *   than every token before it.
 * - A lease lives as long as its worker's heart beats (`workers.beat`). `workers.sweep` takes the leases of the
 *   dead, counts the crash and makes the events due.
 * - Whatever is written under a lease is written only while the queue still has its token, and in the
 *   transaction that asked: a worker that was thought dead and comes back changes nothing.
 *
 * @module
 */

import type { EventId } from '../../model/event.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { StepKind, StepRecord } from '../../model/step.ts'
import type { ClaimedEvent, TopicShare } from './claimed-event.ts'
import type { Acted, Ordered } from './operators.ts'
import type { CommitResult, LendingTransaction } from './transaction.ts'

/** The right to run an event, until another worker takes it. */
export interface Lease {
  readonly eventId: EventId
  readonly run: number
  /** Larger than that of every lease before it. */
  readonly token: number
}

export interface LeasedEvent extends ClaimedEvent {
  readonly lease: Lease
  /** Whether an earlier attempt has left steps. */
  readonly hasSteps: boolean
}

/** How leases are taken in a claimed group. */
export interface GroupLeaseRequest {
  readonly workerId: string
  /** How many to lease at most. The others are kept for `lease`, where they hold up no other event. */
  readonly limit: number
  /** For how long a lease that its worker never hears of stays out of reach (`giveBackForgotten`). */
  readonly leaseMs: number
}

export interface LeaseRequest extends Omit<GroupLeaseRequest, 'limit'> {
  /** Whose events to lease, and how many of each at most. */
  readonly topics: readonly TopicShare[]
  /** With so many crashes an event runs alone: no other such event is leased at the same time, by any worker. */
  readonly aloneFrom: number
}

export interface StepStore<Tx> {
  /** Leases due events of step handlers, oldest of each topic first, if the worker's heart beats. One commit for all. */
  lease(request: LeaseRequest): Promise<readonly LeasedEvent[]>

  /**
   * Gives back leases of this worker that it does not know: the answer that told of them was lost. Costs the
   * events no attempt. Leases younger than their `leaseMs` are left alone; their answer may be on its way.
   */
  giveBackForgotten(workerId: string, known: readonly number[]): Promise<number>

  /** The steps of an event's run, in the order they began; of its latest run where none is given. */
  list(eventId: EventId, run?: number): Promise<readonly StepRecord[]>

  /**
   * Writes what is known of outside calls, in one transaction. For each, in their order: since when its
   * outcome is uncertain, or `undefined` when the lease is lost and nothing was written. A call that is done
   * stays so; the same result may be written again, by a worker that did not get the answer.
   */
  writeCalls(entries: readonly CallEntry[]): Promise<readonly (CallWritten | undefined)[]>

  /**
   * Opens a transaction that holds the leases of the steps, which may be of several events; `undefined` when
   * it holds none of them.
   */
  open(steps: readonly OpenStep[], limits: StepLimits): Promise<StepTransaction<Tx> | undefined>

  /**
   * Writes what became of leased events and gives the leases back, in one transaction. For each, in their
   * order, whether it was written: `false` when the lease is lost.
   */
  settle(settlements: readonly LeasedSettlement[]): Promise<readonly boolean[]>

  /**
   * An operator's word on a call whose outcome is unknown. `STEP_CERTAIN` when the latest run has no such step or its
   * outcome is known, `EVENT_RUNNING` while the event is being worked on.
   */
  resolve(resolution: StepResolution, order: Ordered): Promise<StepResolved>
}

export interface StepPlace {
  readonly handler: string
  /** From 1, in the order in which the handler begins its steps. */
  readonly position: number
  readonly name: string
}

export interface CallEntry extends StepPlace {
  readonly lease: Lease
  /**
   * - `started`: it is about to be made. Uncertain from now on, or since an earlier start.
   * - `restarted`: the same, and nothing of an earlier start has happened.
   * - `refused`: the other side said that nothing has happened.
   * - `done`: with its result.
   */
  readonly change: 'started' | 'restarted' | 'refused' | 'done'
  /** JSON text; `undefined` for a call that returned nothing. */
  readonly result: string | undefined
}

export interface CallWritten {
  /** How long ago, by the database's clock, the first start was whose outcome is not known. */
  readonly uncertainForMs: number
}

export interface OpenStep extends StepPlace {
  readonly lease: Lease
  readonly kind: Exclude<StepKind, 'call'>
}

export interface StepLimits {
  /** How long the transaction may sit idle before the database ends it. */
  readonly idleTimeoutMs: number
  /** How long a statement in it may wait for a lock. 0: no limit of its own. */
  readonly lockTimeoutMs: number
}

/** A transaction in which steps run. Ends with `commit` or `abandon`, exactly once. */
export interface StepTransaction<Tx> extends LendingTransaction<Tx> {
  /** For each step, in their order, whether its lease is held. */
  readonly held: readonly boolean[]
  /** As for a group. */
  status(): 'open' | 'failed' | 'ended' | 'lost'
  /** Keeps the results of the steps that ran and commits all of it; `undefined` for one that did not run. */
  commit(results: readonly (StepResult | undefined)[]): Promise<CommitResult>
}

export interface StepResult {
  /** JSON text; `undefined` for a step that returned nothing. */
  readonly text: string | undefined
}

export interface LeasedSettlement {
  readonly lease: Lease
  readonly settlement:
    | Settlement
    /** Given back without a lost attempt. */
    | { readonly state: 'given-back' }
    /** Its handlers are not step handlers (any more): to be claimed by a group, without a lost attempt. */
    | { readonly state: 'regrouped' }
}

export type StepResolved =
  { readonly status: 'done' } | Extract<Acted, { readonly status: 'refused' }>

export interface StepResolution {
  readonly eventId: EventId
  readonly handler: string | undefined
  readonly name: string
  readonly decision:
    { readonly happened: true; readonly result: string | undefined } | { readonly happened: false }
}
