import type { Count } from './stats.ts'

/** What earlier processes have left, or what does not go on by itself. Counted up to 1,000, and says so. */
export interface Unfinished {
  /** When, by the database's clock. */
  readonly at: Date
  /**
   * Workers that hold events and give no sign of life. Once one of them is known to be dead, its events run again; an
   * event that has crashed three workers is dead.
   */
  readonly leftRunning: readonly LeftRunning[]
  /** Messages that may have arrived, by destination. */
  readonly messages: readonly UncertainMessages[]
  readonly lanes: UnfinishedLanes
  /** When the database was last replaced by an older state of itself; `undefined` where that was never noticed. */
  readonly wentBack: WentBack | undefined
}

/** Events in the hands of a worker that gives no sign of life. */
export interface LeftRunning {
  readonly workerId: string
  readonly events: number
  /** Since when nothing was heard of it; `undefined` for one that has left no record. */
  readonly silentMs: number | undefined
}

/** Messages of one destination that may have arrived. */
export interface UncertainMessages extends Count {
  readonly destination: string
  /** `uncertain`: it is sent again under its key, or checked. `unknown`: it waits for a person. */
  readonly state: 'uncertain' | 'unknown'
}

/** Lanes that stand still. */
export interface UnfinishedLanes {
  /** Events that wait for another one, in any lane. */
  readonly waiting: Count
  /** Lanes that a dead event holds up. */
  readonly blocked: Count
  /** Lanes in which a number is missing. */
  readonly gaps: Count
}

/** Between when events may be missing because the database went back to an older state of itself. */
export interface WentBack {
  readonly since: Date
  readonly until: Date
  /** How many events of that time are here now: those that were not lost, and those that were taken in since. */
  readonly received: Count
}
