import type { EventDraft, EventId, Recorded } from '../../model/event.ts'
import type { EventRecord, Settlement } from '../../model/outcome.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type {
  Beat,
  ClaimRequest,
  ClockKept,
  DeliveryCount,
  Group,
  Heart,
  OutcomeView,
  RunningEvent,
  Store,
  SweptEvent,
  UnhandledPage,
  WorkerSlot,
} from '../contract.ts'
import { claimGroup } from './claim.ts'
import { Connections } from './connections.ts'
import type { SqliteTx } from './lent-tx.ts'
import { requireDatabaseFile, resolveSqliteStoreOptions } from './options.ts'
import type { ResolvedSqliteStoreOptions, SqliteStoreOptions } from './options.ts'
import { getOwnProcess } from './process-identity.ts'
import { SqliteSteps } from './steps.ts'
import { announce } from './sql/announce.ts'
import { beat } from './sql/beat.ts'
import { beatWorker } from './sql/beat-worker.ts'
import { hasCandidates } from './sql/claim-group.ts'
import { correctClock } from './sql/correct-clock.ts'
import { countDeliveries } from './sql/count-deliveries.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findOutcome } from './sql/find-outcome.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { readClock, writeClock } from './sql/keep-clock.ts'
import { findStopped, listHearts } from './sql/list-hearts.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { findNextDueInMs } from './sql/next-due.ts'
import { isWaiting, nudgeEvent } from './sql/nudge-event.ts'
import { findKnown, recordEvents } from './sql/record-events.ts'
import { removeWorker } from './sql/remove-worker.ts'
import { retryEvent } from './sql/retry-event.ts'
import { settleLost } from './sql/settle-lost.ts'
import { sweepLeases } from './sql/sweep-leases.ts'
import { sweepWorkers } from './sql/sweep-workers.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'

/** The store on one SQLite file. */
export class SqliteStore extends SqliteSteps implements Store<SqliteTx> {
  readonly engine = 'sqlite'
  /** One batch commits while the next one collects; a third would only stand in the writer's queue. */
  readonly recordConcurrency = 2

  readonly #options: ResolvedSqliteStoreOptions
  readonly #newId = createUuidV7Generator(Date.now)
  #group: { readonly group: Group<SqliteTx>; readonly slot: WorkerSlot } | undefined

  constructor(file: string, options: SqliteStoreOptions = {}) {
    requireDatabaseFile(file)
    const resolved = resolveSqliteStoreOptions(options)
    super(new Connections(file, resolved), resolved.prefix)
    this.#options = resolved
  }

  async open(): Promise<void> {
    await this.connections.open()
  }

  async close(): Promise<void> {
    await this.connections.close(async () => {
      await this.#group?.group.abandon()
      await this.step?.abandon()
    })
  }

  // ── receive ────────────────────────────────────────────────────────────────────────────────────

  async recordEvents(
    drafts: readonly EventDraft[],
    { deadlineMs }: { deadlineMs: number },
  ): Promise<readonly Recorded[]> {
    const known = await this.findKnown(drafts)
    const rest = drafts.filter((_, index) => known[index] === undefined)
    if (rest.length === 0) return known.filter((recorded) => recorded !== undefined)

    const { identity, writer } = this.connections.getOpen()
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
    const { identity } = this.connections.getOpen()
    const known = await this.connections.read((reader) =>
      drafts.map((draft) => findKnown(reader, draft)),
    )
    identity.check()
    return known
  }

  async beat(since: Date | undefined): Promise<Beat> {
    this.connections.getOpen().identity.check()
    return this.connections.read((reader) => beat(reader, since))
  }

  async keepClock({ always }: { always: boolean }): Promise<ClockKept> {
    const clock = await this.connections.read(readClock)
    // The handler that holds the writer may take its time, and that is no fault of the store.
    const isOurs = this.isHeld()
    if (clock === 'back') {
      const correcting = this.connections.write('durably', correctClock)
      const wentBackMs = await (isOurs ? correcting.catch(() => 0) : correcting)
      return { isWritten: wentBackMs > 0, wentBackMs }
    }
    const isWritten = (clock === 'old' || always) && !isOurs
    if (isWritten) await this.connections.write('lazily', writeClock)
    return { isWritten, wentBackMs: 0 }
  }

  async countDeliveries(counts: readonly DeliveryCount[]): Promise<void> {
    if (counts.length === 0) return
    await this.connections.write('lazily', (connection) => countDeliveries(connection, counts))
  }

  findOutcome(eventId: EventId): Promise<OutcomeView | undefined> {
    return this.connections.read((reader) => findOutcome(reader, eventId))
  }

  async nudgeEvent(eventId: EventId): Promise<void> {
    if (!(await this.connections.read((reader) => isWaiting(reader, eventId)))) return
    await this.connections.write('lazily', (connection) => nudgeEvent(connection, eventId))
  }

  // ── work ───────────────────────────────────────────────────────────────────────────────────────

  requireCapacity(): void {
    // One writer, however many wait for it.
  }

  async claimGroup(request: ClaimRequest): Promise<Group<SqliteTx> | undefined> {
    if (!(await this.connections.read((reader) => hasCandidates(reader, request)))) return undefined
    const { writer, lists } = this.connections.getOpen()
    const context = { writer, lists, waitMs: this.#options.writeWaitMs }
    const group = await claimGroup(context, request, () => {
      this.#group = undefined
    })
    if (group !== undefined) this.#group = { group, slot: request.slot }
    return group
  }

  nextDueInMs(options = { exceptLeasable: false }): Promise<number | undefined> {
    return this.connections.read((reader) => findNextDueInMs(reader, options))
  }

  settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean> {
    return this.connections.write('durably', (connection) => settleLost(connection, settlement))
  }

  /**
   * `claimGroup` has written the list of a group before the group opened, and the group empties it
   * when it ends (see `sql/claim-group.ts`). While it is open nothing can be written here, so that the
   * list of another slot that has nothing to run any more is emptied when the group has ended.
   */
  async announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    const { lists } = this.connections.getOpen()
    const open = this.#group?.slot
    if (open?.workerId === slot.workerId && open.slot === slot.slot) return
    if (open !== undefined && running.length === 0) return lists.emptyLater(slot)
    await this.connections.write('lazily', (connection) =>
      announce(connection, { slot, running, process: getOwnProcess() }),
    )
  }

  /** While a group of ours is open nobody can sweep, and its end moves the heart of its slot. */
  async beatWorker(workerId: string, slots: number): Promise<void> {
    if (this.#group !== undefined) return
    await this.connections.write('lazily', (connection) =>
      beatWorker(connection, { workerId, slots, process: getOwnProcess() }),
    )
  }

  async removeWorker(workerId: string): Promise<void> {
    const { lists } = this.connections.getOpen()
    await this.connections.write('lazily', (connection) => {
      removeWorker(connection, workerId)
      lists.removed(workerId)
    })
  }

  async listHearts(): Promise<readonly Heart[]> {
    return this.connections.read(listHearts)
  }

  async sweepWorkers({
    stopped,
    crashesMax,
  }: {
    stopped: readonly Heart[]
    crashesMax: number
  }): Promise<readonly SweptEvent[]> {
    return this.connections.write('durably', (connection) => {
      const dead = findStopped(connection, stopped)
      return [
        ...sweepLeases(connection, { dead, crashesMax }),
        ...sweepWorkers(connection, { dead, crashesMax }),
      ]
    })
  }

  listUnhandled(page: { limit: number; after: string | undefined }): Promise<UnhandledPage> {
    return this.connections.read((reader) => listUnhandled(reader, page))
  }

  wakeUnhandled(
    pairs: readonly { source: string; type: string }[],
    limit: number,
  ): Promise<number> {
    return this.connections.write('durably', (connection) =>
      wakeUnhandled(connection, { pairs, limit }),
    )
  }

  /** SQLite cannot tell; the worker's poll finds what other processes have stored. */
  async listen(): Promise<() => Promise<void>> {
    return async () => {}
  }

  async notify(): Promise<void> {}

  /** Lets SQLite renew the statistics of its planner, where it thinks they are old. */
  async maintain(): Promise<void> {
    await this.connections.write('lazily', (connection) => connection.execute('pragma optimize'))
  }

  // ── operators ──────────────────────────────────────────────────────────────────────────────────

  findEvent(eventId: EventId): Promise<EventRecord | undefined> {
    return this.connections.read((reader) => findEvent(reader, eventId))
  }

  listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]> {
    return this.connections.read((reader) => listEventsByKey(reader, { source, key }))
  }

  countEvents(source?: string): Promise<number> {
    return this.connections.read((reader) => countEvents(reader, source))
  }

  forgetEvent(eventId: EventId): Promise<boolean> {
    return this.connections.write('durably', (connection) => forgetEvent(connection, eventId))
  }

  listDead(limit: number): Promise<readonly EventRecord[]> {
    return this.connections.read((reader) => listDead(reader, limit))
  }

  retryEvent(eventId: EventId): Promise<boolean> {
    return this.connections.write('durably', (connection) => retryEvent(connection, eventId))
  }
}
