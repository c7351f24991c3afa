/**
 * What a store must do to forget: remove what is older than its retention. To erase an event is an operator's action.
 *
 * Rules for every store:
 *
 * - Only what has ended is removed. An event is kept, with its key, while it is queued in any state, while it is
 *   `dead`, and while a message of it is unsent or of unknown outcome.
 * - How an event ended is kept for as long as its key or its payload is: a redelivery is answered with it.
 * - Each step is one short transaction, and leaves nothing that a later step of another process cannot take up: a
 *   prune that was killed is taken up by the next one.
 *
 * @module
 */

import type { Acted, Ordered } from './operators.ts'

export interface RetentionStore {
  /** The database's time, what the last run did, and how much is older than the limits. */
  survey(limits: PruneLimits): Promise<PruneSurvey>

  /**
   * Removes whole partitions, where the engine has them and nothing but some survivors is in them. Left out by an
   * engine without partitions.
   */
  dropPartitions?(limits: PruneLimits): Promise<PruneStep>

  /** One short transaction of a run. Goes on from `after`, the `next` of the step before. */
  prune(part: PrunePart, limits: PruneLimits, after: string | undefined): Promise<PruneStep>

  /** Gives room that was freed back to the file system, a little of it. Whether there is more. */
  shrink?(): Promise<boolean>

  /** The database's time, from which limits count, and when the last run was: asked often, where `survey` is not. */
  findLastRun(): Promise<{ readonly nowMs: number; readonly lastMs: number }>

  /** Keeps how long things are kept, as JSON, for a pruner without an inbox. The last one counts. */
  keepPolicy(policy: string): Promise<void>
  findPolicy(): Promise<string | undefined>

  /**
   * Writes to the audit that a person wants a run, before it removes anything. Under the token of a run that has not
   * ended it is that run, and goes on.
   */
  beginOrdered(order: Ordered): Promise<OrderedRunBegun>

  /**
   * Writes down that a run has ended, for the next one to compare itself with; and what it removed, in the audit of
   * one that a person wanted.
   */
  noteRun(run: PruneRun, ordered?: OrderedRun): Promise<void>
}

/** What became of the wish for a run. */
export type OrderedRunBegun =
  | { readonly status: 'begun'; readonly auditId: string }
  /** The token stands for a run that has ended. */
  | { readonly status: 'done'; readonly removed: PruneCounts }
  | Extract<Acted, { readonly status: 'refused' }>

/** A run that a person wanted, and what it has removed. */
export interface OrderedRun {
  readonly auditId: string
  readonly removed: PruneCounts
}

/**
 * What a run goes through, in this order:
 *
 * - `dead`: events that have been dead for long are discarded.
 * - `payloads`: bodies and headers, with the requests they came in.
 * - `attempts`, `steps`, `deliveries`: what is kept beside an event.
 * - `runs`: what operators asked for, of events whose payload is gone.
 * - `messages`: those that were sent or discarded.
 * - `audit`: what operators did.
 * - `bulks`: what they planned for many events, when nothing was done for it since.
 * - `keys`: keys, and how their events ended.
 * - `lanes`: what is known of lanes in which nothing has happened for as long as keys are kept.
 */
export const PRUNE_PARTS = [
  'dead',
  'payloads',
  'attempts',
  'steps',
  'deliveries',
  'runs',
  'messages',
  'audit',
  'bulks',
  'keys',
  'lanes',
] as const
export type PrunePart = (typeof PRUNE_PARTS)[number]

/** What ended before these times, in ms since 1970, is removed. `null`: never. */
export interface PruneLimits {
  readonly done: number | null
  readonly skipped: number | null
  readonly discarded: number | null
  readonly dead: number | null
  readonly attempts: number | null
  readonly steps: number | null
  readonly deliveries: number | null
  readonly messages: number | null
  readonly audit: number | null
  readonly keys: number | null
}

/** What is there, and how much of it would be removed, about. */
export interface PruneShare {
  readonly there: number
  readonly old: number
  /** Which part of what is kept one run usually removes, by how long it is kept and how often or coarsely it goes. */
  readonly expected: number
}

export interface PruneSurvey {
  readonly nowMs: number
  readonly limits: PruneLimits
  readonly events: PruneShare
  readonly keys: PruneShare
  readonly last: PruneRun
}

/** A run that has ended. Of a database without any: when its tables were made. */
export interface PruneRun {
  readonly atMs: number
  /** How many events, and how many keys, a run removes at most in ordinary times. */
  readonly usualEvents: number
  readonly usualKeys: number
}

/** What is counted of a run, by table. */
export interface PruneCounts {
  readonly events: number
  readonly requests: number
  readonly attempts: number
  readonly steps: number
  readonly deliveries: number
  readonly messages: number
  readonly runs: number
  readonly audit: number
  readonly bulks: number
  readonly keys: number
  readonly lanes: number
  readonly outcomes: number
  /** Dead events that were discarded. */
  readonly discarded: number
  readonly partitions: number
}

export interface PruneStep {
  readonly removed: Partial<PruneCounts>
  /** Where the next step goes on; `undefined` when there is nothing more. */
  readonly next: string | undefined
  /** Another pruner is at work: nothing was done. */
  readonly isBusy: boolean
  /** How long it kept others waiting, for a store in which it has to wait for its own turn first. */
  readonly heldMs?: number
}
