/**
 * What a store must count. Every question has a limit, and says when it was reached: a count is never a look at
 * everything there is.
 *
 * @module
 */

import type { EventState, ParkedState, SettledState } from '../../model/event-state.ts'
import type { EventId } from '../../model/event.ts'
import type { OpenTransaction } from '../../model/open-transaction.ts'
import type { MessageStats, WorkerStats } from '../../model/stats.ts'
import type { Unfinished, WentBack } from '../../model/unfinished.ts'

/** The part of a store that counts. */
export interface StatsStore {
  /** The database's clock. */
  now(): Promise<Date>
  /** How many of the first `most` events in this place are of each source. */
  countPlace(place: CountedPlace, most: number): Promise<PlaceCount>
  /** What is due, and since when the oldest is. */
  countDue(most: number): Promise<DueCount>
  /** How many events have an id in this range, of a source or of all, among the first `most` of the range. */
  countReceived(range: IdRange, source: string | undefined, most: number): Promise<PlaceCount>
  /** Of the newest `most` outcomes of events from this id on: which came to rest in which span of time. */
  countSettled(request: SettledCountRequest): Promise<readonly SettledCount[]>
  /** Messages that are not sent yet, or wait for a person. */
  countMessages(most: number): Promise<readonly MessageStats[]>
  /** Those that have a record, and what they run. */
  listWorkers(): Promise<readonly WorkerStats[]>
  /**
   * What has been open for longest in the database, and what holds most back: `most` of each at most, oldest first.
   * `undefined` where the engine cannot tell: SQLite knows neither who reads nor since when, though a reader that stays
   * keeps its log from being emptied.
   */
  listOpenTransactions(most: number): Promise<readonly OpenTransaction[] | undefined>
  /** What earlier processes have left, or what does not go on by itself. Of each thing so many are looked at. */
  findUnfinished(query: UnfinishedQuery): Promise<UnfinishedFound>
}

export interface UnfinishedQuery {
  readonly most: number
  /** How long a worker that lives may be silent. */
  readonly silentMs: number
}

export interface UnfinishedFound extends Omit<Unfinished, 'wentBack'> {
  readonly wentBack: Pick<WentBack, 'since' | 'until'> | undefined
}

/** `done` is counted among all outcomes; `ready` are those that no worker has in hand. */
export type CountedPlace =
  | 'ready'
  | 'running'
  | 'done'
  | { readonly parked: ParkedState }
  | { readonly settled: Exclude<SettledState, 'done'> }

export interface PlaceCount {
  readonly bySource: readonly { readonly source: string; readonly count: number }[]
  /** How many were looked at. As many as allowed: there may be more. */
  readonly lookedAt: number
}

export interface DueCount {
  readonly due: number
  readonly lookedAt: number
  readonly oldestDueAt: Date | undefined
}

export interface IdRange {
  readonly from: EventId
  readonly below: EventId
}

export interface SettledCountRequest {
  readonly from: EventId
  readonly source: string | undefined
  /** When the first span begins, and how long each is. */
  readonly start: Date
  readonly spanMs: number
  readonly most: number
}

export interface SettledCount {
  /** The number of the span, from 0. */
  readonly span: number
  readonly state: EventState
  readonly count: number
}
