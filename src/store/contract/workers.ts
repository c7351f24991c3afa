/**
 * What a store must do to know which workers live, what they run and what they have handlers for.
 *
 * @module
 */

import type { EventId } from '../../model/event.ts'

export interface WorkerStore {
  /** Says which events a slot is about to run, on a connection of its own. Not durable against a crash of the machine. */
  announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void>
  /** Shows that the worker lives, for all its slots at once, and what it has handlers for. */
  beat(beat: WorkerBeat): Promise<void>
  /** Removes the worker's records. Leases that it still has are then a dead worker's. */
  remove(workerId: string): Promise<void>
  /** The hearts of all workers that have a record or a lease, as they stand now. */
  listHearts(): Promise<readonly Heart[]>
  /**
   * Counts a crash on what these workers were running: an event with `crashesMax` crashes is settled
   * `dead: crashed`, the others become suspects that run alone. An event that several of them were running has one
   * crash more. One that has ended, and was queued again after they had said that they run it, has none: that run has
   * not begun. Their leases are taken from them, and the events are due at once. A worker whose heart has moved since
   * it was listed is left alone.
   */
  sweep(options: { stopped: readonly Heart[]; crashesMax: number }): Promise<readonly SweptEvent[]>

  /** What the workers have handlers for that have a record. A dead one has it until it is swept. */
  listHandled(): Promise<readonly HandledPattern[]>
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

export interface WorkerBeat {
  readonly workerId: string
  readonly slots: number
  readonly handles: readonly HandledPattern[]
}

/** A source and a type of event, or a pattern such as `invoice.*`, that a worker has a handler for. */
export type HandledPattern = readonly [source: string, pattern: string]

/** Where a worker's heart stood when it was looked at. */
export interface Heart {
  readonly workerId: string
  /** Another text after every beat; to be compared and nothing else. */
  readonly beat: string
  /** How long ago that was, by a clock that can be set: a hint for a caller that cannot watch for long, and no proof. */
  readonly stillMs: number
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
