import type { Notes, Runtime } from './child.ts'

/** One run of one subject. */
export interface Measurement {
  /** Events or requests a second. */
  readonly rate: number
  /** Answered or stored, and without effect. */
  readonly lost: number
  /** Took effect more than once. */
  readonly doubled: number
  readonly notes: Notes
  /** Results from before there were any have none. */
  readonly figures?: Figures
}

/**
 * What is measured beside the rate. The costs of an event are those of the process that works and of its
 * database: processor time, bytes of the database's log, transactions that wrote and committed, and flushes of the
 * log to the disk. On SQLite the process is the database.
 */
export type FigureName =
  | 'own µs/event'
  | 'database µs/event'
  | 'log bytes/event'
  | 'commits/event'
  | 'flushes/event'
  | 'statements/100 requests'
  | 'answer p50 ms'
  | 'answer p99 ms'
  | 'answer slowest ms'
  | 'answers/s'
  | 'rate late/early'
  | 'done p50 ms'
  | 'done p99 ms'
  | 'delivery to done p50 ms'
  | 'delivery to done p99 ms'
  | 'memory MB'
  | 'memory late/early'
  | 'idle ms/s'

/** A figure that could not be taken is missing. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>

export type Setting = Readonly<Record<string, number | boolean>>

/** One thing that is measured: ours or a peer, with every setting that may be its best. */
export interface Contestant {
  readonly name: string
  readonly runtime: Runtime
  readonly isOurs: boolean
  /** More than one: each is tried once, and the fastest that loses nothing is measured. */
  readonly settings: readonly Setting[]
  measure(setting: Setting): Promise<Measurement>
}

/** Of the ratio between two contestants, or without `against` of the figure itself. */
export interface Goal {
  readonly of: string
  readonly against?: string
  /** The rate where none is named. */
  readonly figure?: FigureName
  readonly atLeast?: number
  readonly atMost?: number
}

export interface MeasuredContestant {
  readonly name: string
  readonly runtime: Runtime
  readonly setting: Setting
  readonly tried: readonly { readonly setting: Setting; readonly measurement: Measurement }[]
  readonly measurements: readonly Measurement[]
}

export interface MeasuredRatio extends Goal {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly isReached: boolean
}

export interface Check {
  readonly name: string
  readonly isOk: boolean
  readonly detail: string
}

/** What a workload found. A check that is not ok makes the run fail; a goal that is not reached is said. */
export interface WorkloadResult {
  readonly workload: string
  readonly title: string
  readonly contestants: readonly MeasuredContestant[]
  readonly ratios: readonly MeasuredRatio[]
  readonly checks: readonly Check[]
}
