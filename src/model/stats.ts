import type { EventState } from './event-state.ts'
import type { EventId } from './event.ts'
import type { MessageState } from './message-state.ts'
import type { OpenTransaction } from './open-transaction.ts'

/** How things stand. What would take long to count is counted up to 10,000, and says so. */
export interface Stats {
  /** When, by the database's clock. */
  readonly at: Date
  /** How many events are in each state. */
  readonly states: Readonly<Record<EventState, Count>>
  /** The same by source, as far as they were counted; states that a source has none of are left out. */
  readonly sources: readonly SourceStats[]
  readonly queue: QueueStats
  /** Oldest first. */
  readonly rates: readonly Rate[]
  /** By destination and state: those that are not sent yet, or wait for a person. */
  readonly messages: readonly MessageStats[]
  readonly workers: readonly WorkerStats[]
  /**
   * Transactions that are open in the database, oldest first: the ten oldest, and the ten that hold most back. They may
   * be yours, ours or another program's. `undefined` on SQLite, which cannot tell.
   */
  readonly openTransactions: readonly OpenTransaction[] | undefined
}

/** A number, and whether it is all. Where it is not, there are at least so many. */
export interface Count {
  readonly count: number
  readonly isExact: boolean
}

/** Events of one source. */
export interface SourceStats {
  readonly source: string
  readonly states: Readonly<Partial<Record<EventState, number>>>
}

/** What waits for a worker. */
export interface QueueStats {
  /** Events that are due, also those that a group is running. */
  readonly due: Count
  /** Since when the oldest of them is due; `undefined` when none is. */
  readonly oldestDueAt: Date | undefined
}

/** What happened in a minute, or an hour. */
export interface Rate {
  readonly from: Date
  /** Events that were stored in it. */
  readonly received: Count
  /** Events that came to rest in it, by their state. Of the newest 10,000 events that were stored in the whole time. */
  readonly settled: Readonly<Partial<Record<EventState, number>>>
}

/** Messages of one destination in one state. */
export interface MessageStats extends Count {
  readonly destination: string
  readonly state: MessageState
}

/** A worker that has a record: it lives, or has not been missed yet. */
export interface WorkerStats {
  readonly workerId: string
  /** The last sign of life, by the database's clock. */
  readonly beatAt: Date
  readonly running: readonly RunningStats[]
}

/** An event that a worker has in hand. */
export interface RunningStats {
  readonly eventId: EventId
  readonly source: string
  /** Cut at 1,024 characters, as in a list. */
  readonly type: string
  readonly attempt: number
  /** Since when, for events that are not run by step handlers. */
  readonly since: Date | undefined
}
