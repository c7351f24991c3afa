/**
 * What a store must do, for every phase that needs one.
 *
 * A store is done when the suite of `src/testing/store/conformance.ts` passes on it; what ours do beyond that is in
 * `test/store/contract/`. The phases (`receive`, `work`) know this file and no engine; an engine knows this file and no
 * phase.
 *
 * Rules for every store:
 *
 * - `record` returns only after the rows are durable, and throws `CommitUnknownError` when
 *   that cannot be told. It never waits for a handler's transaction in order to answer a duplicate.
 * - What a handler writes through its `tx` and what `settle` writes become visible together or not
 *   at all.
 * - Times that decide what is due are the database's. Whether a worker is dead is decided by another worker that has
 *   watched its heart for long enough (`work/heart-watch.ts`): a store only tells where each heart stands. It also tells
 *   for how long, by a clock that can be set. Only a process that lives too short to watch, as for `runDue`, goes by that.
 *
 * @module
 */

import type { BulkStore } from './bulks.ts'
import type { EventSearchStore } from './event-search.ts'
import type { EventStore } from './events.ts'
import type { LaneStore } from './lanes.ts'
import type { MessageStore } from './messages.ts'
import type { OnceStore } from './once.ts'
import type { OperatorStore } from './operators.ts'
import type { PauseStore } from './pauses.ts'
import type { QueueStore } from './queue.ts'
import type { ReadingStore } from './readings.ts'
import type { StatsStore } from './stats.ts'
import type { RetentionStore } from './retention.ts'
import type { StoreTrouble } from './store-trouble.ts'
import type { StepStore } from './steps.ts'
import type { TokenStore } from './tokens.ts'
import type { Engine } from './tx-binding.ts'
import type { WorkerStore } from './workers.ts'

/**
 * Where events, steps and messages are kept. Made by `sqliteStore` or `postgresStore`, and handed to
 * `createInbox`; the inbox calls it, and a user does not. `Sql` is the transaction that it lends, `Tx` what handlers
 * get as `tx`: the same, or an object of a library of the user's on it.
 */
export interface Store<Sql, Tx = Sql> {
  /** Which engine is behind it. */
  readonly engine: Engine
  /** Receives events. */
  readonly events: EventStore
  /** Hands out events to be worked on. */
  readonly queue: QueueStore<Sql>
  /** Keeps events in their order. */
  readonly lanes: LaneStore
  /** Knows which workers live. */
  readonly workers: WorkerStore
  /** Keeps leases, and what step handlers have done. */
  readonly steps: StepStore<Sql>
  /** Keeps what handlers send. */
  readonly messages: MessageStore<Sql>
  /** Lets work run once in a transaction of the user's. */
  readonly once: OnceStore<Sql>
  /** Answers operators' questions, and makes their changes to events. */
  readonly operators: OperatorStore
  /** Keeps sources, handlers and destinations still. */
  readonly pauses: PauseStore
  /** Lends transactions in which nothing can be written. */
  readonly readings: ReadingStore<Sql>
  /** Finds events for operators. */
  readonly search: EventSearchStore
  /** Counts, with a limit to every count. */
  readonly stats: StatsStore
  /** Keeps actions on many events. */
  readonly bulks: BulkStore
  /** Removes old events, and erases what must not be kept. */
  readonly retention: RetentionStore
  /** Keeps the tokens of a gateway's operators. */
  readonly tokens: TokenStore

  /**
   * Connects, migrates or checks the schema, and refuses settings that would break a promise.
   * Called once, before anything else. Safe to call from many processes at once.
   */
  open(): Promise<void>
  /** Known once it is open: settings of the database that break no promise, and may surprise the user all the same. */
  readonly warnings?: readonly string[]
  /** Closes every connection and listener of its own, also when it could not be opened. The user's pool stays open. */
  close(): Promise<void>

  /** Makes of a transaction what handlers get as `tx`: the transaction itself, or the user's library on it. */
  bindTx(sql: Sql): Tx
  /** Calls a handler that was lent a transaction, with what the user's library does around a handler. */
  runBound<Result>(sql: Sql, work: () => Result | Promise<Result>): Promise<Result>

  /**
   * What an error means that a statement or a COMMIT has failed with, also where a library has wrapped it.
   * `undefined` when it is the work's own failure.
   */
  findTrouble(error: unknown): StoreTrouble | undefined

  /** Called now and then. Keeps the tables in shape, for example by making the next partitions. */
  maintain(): Promise<void>
}
