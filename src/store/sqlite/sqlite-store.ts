/**
 * The store on one SQLite file.
 *
 * It opens two connections of its own: the writer, with a queue in front of it, and the reader. On a
 * handle shared with the user's code another route's write was seen to vanish with our rollback.
 * With the log in WAL mode the reader sees the last commit and waits for nobody, which is how a
 * duplicate is answered while a handler's transaction is open.
 *
 * @module
 */

import { StoreUnavailableError } from '../../errors.ts'
import type { EventDraft, EventId, Recorded } from '../../model/event.ts'
import type { EventRecord, Settlement } from '../../model/outcome.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type {
  Beat,
  ClaimRequest,
  DeliveryCount,
  Group,
  OutcomeView,
  RunningEvent,
  Store,
  SweptEvent,
  UnhandledPage,
  WorkerSlot,
} from '../contract.ts'
import { claimGroup } from './claim.ts'
import type { Connection } from './connection.ts'
import type { SqliteDriver } from './driver.ts'
import { FileIdentity } from './file-identity.ts'
import type { SqliteTx } from './lent-tx.ts'
import { checkSchema, migrate } from './migrations.ts'
import { openConnection, requireWal } from './open-connection.ts'
import { openDriver } from './open-driver.ts'
import { requireDatabaseFile, resolveSqliteStoreOptions } from './options.ts'
import type { ResolvedSqliteStoreOptions, SqliteStoreOptions } from './options.ts'
import { getOwnProcess } from './process-identity.ts'
import { RunningLists } from './running-lists.ts'
import { SqliteSteps } from './steps.ts'
import { announce } from './sql/announce.ts'
import { beat } from './sql/beat.ts'
import { beatWorker } from './sql/beat-worker.ts'
import { hasCandidates } from './sql/claim-group.ts'
import { countDeliveries } from './sql/count-deliveries.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findOutcome } from './sql/find-outcome.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { findNextDueInMs } from './sql/next-due.ts'
import { isWaiting, nudgeEvent } from './sql/nudge-event.ts'
import { findKnown, recordEvents } from './sql/record-events.ts'
import { removeWorker } from './sql/remove-worker.ts'
import { retryEvent } from './sql/retry-event.ts'
import { settleLost } from './sql/settle-lost.ts'
import { hasOrphans, sweepLeases } from './sql/sweep-leases.ts'
import { hasDeadWorkers, sweepWorkers } from './sql/sweep-workers.ts'
import type { SweepOptions } from './sql/sweep-workers.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'
import { isBusy, toStoreError } from './sqlite-error.ts'
import { Writer } from './writer.ts'

interface Open {
  readonly identity: FileIdentity
  readonly writer: Writer
  readonly lists: RunningLists
  readonly reader: Connection
}

export class SqliteStore extends SqliteSteps implements Store<SqliteTx> {
  readonly engine = 'sqlite'
  /** One batch commits while the next one collects; a third would only stand in the writer's queue. */
  readonly recordConcurrency = 2

  readonly #file: string
  readonly #options: ResolvedSqliteStoreOptions
  readonly #newId = createUuidV7Generator(Date.now)
  #opened: Open | undefined
  #group: { readonly group: Group<SqliteTx>; readonly slot: WorkerSlot } | undefined

  constructor(file: string, options: SqliteStoreOptions = {}) {
    requireDatabaseFile(file)
    const resolved = resolveSqliteStoreOptions(options)
    super(resolved.prefix)
    this.#file = file
    this.#options = resolved
  }

  async open(): Promise<void> {
    if (this.#opened !== undefined) return
    const driver = await openDriver(this.#options.driver)
    const writer = new Writer(await this.#connect(driver))
    try {
      await this.#prepareSchema(writer)
      const identity = FileIdentity.of(this.#file)
      const reader = await this.#connect(driver)
      const lists = new RunningLists(writer, this.#options.writeWaitMs)
      this.#opened = { identity, writer, lists, reader }
    } catch (error) {
      writer.connection.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened
    if (opened === undefined) return
    this.#opened = undefined
    const turnOver = opened.writer.close()
    await this.#group?.group.abandon()
    await this.step?.abandon()
    await turnOver
    await opened.lists.close()
    opened.reader.close()
    opened.writer.connection.close()
  }

  // ── receive ────────────────────────────────────────────────────────────────────────────────────

  async recordEvents(
    drafts: readonly EventDraft[],
    { deadlineMs }: { deadlineMs: number },
  ): Promise<readonly Recorded[]> {
    const known = await this.findKnown(drafts)
    const rest = drafts.filter((_, index) => known[index] === undefined)
    if (rest.length === 0) return known.filter((recorded) => recorded !== undefined)

    const { identity, writer } = this.#requireOpen()
    const stored = await writer.transact({ waitMs: deadlineMs, durable: true }, (connection) =>
      recordEvents(connection, { drafts: rest, newId: this.#newId }),
    )
    // No answer for what went into a file that nobody can open again.
    identity.check()
    let next = 0
    return known.map((recorded) => recorded ?? (stored[next++] as Recorded))
  }

  isHeld(): boolean {
    return this.#group !== undefined || this.step !== undefined
  }

  async findKnown(drafts: readonly EventDraft[]): Promise<readonly (Recorded | undefined)[]> {
    const { identity } = this.#requireOpen()
    const known = await this.read((reader) => drafts.map((draft) => findKnown(reader, draft)))
    identity.check()
    return known
  }

  async beat(since: Date | undefined): Promise<Beat> {
    this.#requireOpen().identity.check()
    return this.read((reader) => beat(reader, since))
  }

  async countDeliveries(counts: readonly DeliveryCount[]): Promise<void> {
    if (counts.length === 0) return
    await this.write('lazily', (connection) => countDeliveries(connection, counts))
  }

  findOutcome(eventId: EventId): Promise<OutcomeView | undefined> {
    return this.read((reader) => findOutcome(reader, eventId))
  }

  async nudgeEvent(eventId: EventId): Promise<void> {
    if (!(await this.read((reader) => isWaiting(reader, eventId)))) return
    await this.write('lazily', (connection) => nudgeEvent(connection, eventId))
  }

  // ── work ───────────────────────────────────────────────────────────────────────────────────────

  requireCapacity(): void {
    // One writer, however many wait for it.
  }

  async claimGroup(request: ClaimRequest): Promise<Group<SqliteTx> | undefined> {
    if (!(await this.read((reader) => hasCandidates(reader, request)))) return undefined
    const { writer, lists } = this.#requireOpen()
    const context = { writer, lists, waitMs: this.#options.writeWaitMs }
    const group = await claimGroup(context, request, () => {
      this.#group = undefined
    })
    if (group !== undefined) this.#group = { group, slot: request.slot }
    return group
  }

  nextDueInMs(options = { exceptLeasable: false }): Promise<number | undefined> {
    return this.read((reader) => findNextDueInMs(reader, options))
  }

  settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean> {
    return this.write('durably', (connection) => settleLost(connection, settlement))
  }

  /**
   * `claimGroup` has written the list of a group before the group opened, and the group empties it
   * when it ends (see `sql/claim-group.ts`). While it is open nothing can be written here, so that the
   * list of another slot that has nothing to run any more is emptied when the group has ended.
   */
  async announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    const { lists } = this.#requireOpen()
    const open = this.#group?.slot
    if (open?.workerId === slot.workerId && open.slot === slot.slot) return
    if (open !== undefined && running.length === 0) return lists.emptyLater(slot)
    await this.write('lazily', (connection) =>
      announce(connection, { slot, running, process: getOwnProcess() }),
    )
  }

  /** While a group of ours is open nobody can sweep, and its end moves the heart of its slot. */
  async beatWorker(workerId: string, slots: number): Promise<void> {
    if (this.#group !== undefined) return
    await this.write('lazily', (connection) =>
      beatWorker(connection, { workerId, slots, process: getOwnProcess() }),
    )
  }

  async removeWorker(workerId: string): Promise<void> {
    const { lists } = this.#requireOpen()
    await this.write('lazily', (connection) => {
      removeWorker(connection, workerId)
      lists.removed(workerId)
    })
  }

  async sweepWorkers(options: SweepOptions): Promise<readonly SweptEvent[]> {
    const isAny = await this.read(
      (reader) => hasDeadWorkers(reader, options) || hasOrphans(reader, options),
    )
    if (!isAny) return []
    return this.write('durably', (connection) => [
      ...sweepLeases(connection, options),
      ...sweepWorkers(connection, options),
    ])
  }

  listUnhandled(page: { limit: number; after: string | undefined }): Promise<UnhandledPage> {
    return this.read((reader) => listUnhandled(reader, page))
  }

  wakeUnhandled(
    pairs: readonly { source: string; type: string }[],
    limit: number,
  ): Promise<number> {
    return this.write('durably', (connection) => wakeUnhandled(connection, { pairs, limit }))
  }

  /** SQLite cannot tell; the worker's poll finds what other processes have stored. */
  async listen(): Promise<() => Promise<void>> {
    return async () => {}
  }

  async notify(): Promise<void> {}

  /** Lets SQLite renew the statistics of its planner, where it thinks they are old. */
  async maintain(): Promise<void> {
    await this.write('lazily', (connection) => connection.execute('pragma optimize'))
  }

  // ── operators ──────────────────────────────────────────────────────────────────────────────────

  findEvent(eventId: EventId): Promise<EventRecord | undefined> {
    return this.read((reader) => findEvent(reader, eventId))
  }

  listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]> {
    return this.read((reader) => listEventsByKey(reader, { source, key }))
  }

  countEvents(source?: string): Promise<number> {
    return this.read((reader) => countEvents(reader, source))
  }

  forgetEvent(eventId: EventId): Promise<boolean> {
    return this.write('durably', (connection) => forgetEvent(connection, eventId))
  }

  listDead(limit: number): Promise<readonly EventRecord[]> {
    return this.read((reader) => listDead(reader, limit))
  }

  retryEvent(eventId: EventId): Promise<boolean> {
    return this.write('durably', (connection) => retryEvent(connection, eventId))
  }

  // ── inside ─────────────────────────────────────────────────────────────────────────────────────

  async #connect(driver: SqliteDriver): Promise<Connection> {
    const connection = openConnection(driver, { file: this.#file, prefix: this.#options.prefix })
    try {
      await this.#patiently(() => requireWal(connection))
      connection.execute('pragma synchronous = full')
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  async #prepareSchema(writer: Writer): Promise<void> {
    if (this.#options.migrate === 'auto') await migrate(writer, this.#options.writeWaitMs)
    await this.#patiently(() => checkSchema(writer.connection))
  }

  protected write<Result>(
    how: 'durably' | 'lazily',
    work: (connection: Connection) => Result,
  ): Promise<Result> {
    const { writer } = this.#requireOpen()
    return writer.transact({ waitMs: this.#options.writeWaitMs, durable: how === 'durably' }, work)
  }

  protected takeWriter(): { readonly writer: Writer; readonly deadline: number } {
    const { writer } = this.#requireOpen()
    return { writer, deadline: performance.now() + this.#options.writeWaitMs }
  }

  /** One snapshot for all of `work`, so that a record is never put together from two states. */
  protected async read<Result>(work: (reader: Connection) => Result): Promise<Result> {
    const { reader } = this.#requireOpen()
    return this.#patiently(() => {
      reader.execute('begin')
      try {
        return work(reader)
      } finally {
        if (reader.inTransaction()) reader.execute('commit')
      }
    })
  }

  /** Readers do not wait in WAL mode, except for the moments in which the log is set up or recovered. */
  async #patiently<Result>(work: () => Result): Promise<Result> {
    const deadline = performance.now() + this.#options.writeWaitMs
    for (;;) {
      try {
        return work()
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw toStoreError(error)
      }
      await new Promise((done) => setTimeout(done, 1 + Math.random() * 10))
    }
  }

  #requireOpen(): Open {
    if (this.#opened === undefined) throw new StoreUnavailableError('The store is not open')
    this.#opened.identity.assert()
    return this.#opened
  }
}
