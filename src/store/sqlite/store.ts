import type { EventDraft, EventId, Recorded } from '../../model/event.ts'
import type { EventRecord, Settlement } from '../../model/outcome.ts'
import { Topics } from '../../model/topic.ts'
import type { Topic } from '../../model/topic.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type {
  Beat,
  ClaimRequest,
  ClockKept,
  DeliveryCount,
  DueKind,
  Group,
  HandledPattern,
  Heart,
  Look,
  LookRequest,
  OutcomeView,
  ParkedEvent,
  RunningEvent,
  Store,
  SweptEvent,
  UnhandledTopic,
  WorkerBeat,
  WorkerSlot,
} from '../contract/store.ts'
import { numberDrafts } from '../shared/numbered-draft.ts'
import { claimGroup } from './claim-group.ts'
import type { ClaimContext } from './claim-group.ts'
import { Connections } from './connections.ts'
import { SqliteGroup } from './group.ts'
import type { GroupInput } from './group.ts'
import type { SqliteTx } from './lent-tx.ts'
import { requireDatabaseFile, resolveSqliteStoreOptions } from './options.ts'
import type { ResolvedSqliteStoreOptions, SqliteStoreOptions } from './options.ts'
import { getOwnProcess } from './process-identity.ts'
import { SqliteSteps } from './steps.ts'
import { announce } from './sql/announce.ts'
import { beat } from './sql/beat.ts'
import { beatWorker } from './sql/beat-worker.ts'
import { hasCandidates } from './sql/claim-group.ts'
import { countDeliveries } from './sql/count-deliveries.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findOutcome } from './sql/find-outcome.ts'
import { findRequest } from './sql/find-request.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { keepClock } from './sql/keep-clock.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { listHandled } from './sql/list-handled.ts'
import { findStopped, listHearts } from './sql/list-hearts.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { look } from './sql/look.ts'
import { isWaiting, nudgeEvent } from './sql/nudge-event.ts'
import { parkUnhandled } from './sql/park-unhandled.ts'
import { findKnown, recordEvents } from './sql/record-events.ts'
import { removeWorker } from './sql/remove-worker.ts'
import { retryEvent } from './sql/retry-event.ts'
import { settleLost } from './sql/settle-lost.ts'
import { sweepLeases } from './sql/sweep-leases.ts'
import { sweepWorkers } from './sql/sweep-workers.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'
import type { Turn } from './turn.ts'

/** The store on one SQLite file. */
export class SqliteStore extends SqliteSteps implements Store<SqliteTx> {
  readonly engine = 'sqlite'
  /** One batch commits while the next one collects; a third would only stand in the writer's queue. */
  readonly recordConcurrency = 2

  readonly #options: ResolvedSqliteStoreOptions
  readonly #newId = createUuidV7Generator(Date.now)
  readonly #topics = new Topics()
  /** By slot; one that opens late may have no transaction yet. */
  readonly #groups = new Map<string, SqliteGroup>()
  /** The slot whose group has its transaction open. */
  #openSlot: string | undefined

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
      await Promise.all([...this.#groups.values()].map((group) => group.abandon()))
      await this.step?.abandon()
    })
  }

  // ── receive ────────────────────────────────────────────────────────────────────────────────────

  async recordEvents(
    drafts: readonly EventDraft[],
    { deadlineMs }: { deadlineMs: number },
  ): Promise<readonly Recorded[]> {
    const known = await this.findKnown(drafts)
    const rest = numberDrafts(
      drafts.filter((_, index) => known[index] === undefined),
      { newId: this.#newId, topics: this.#topics },
    )
    if (rest.length === 0) return known.filter((recorded) => recorded !== undefined)

    const { writer } = this.connections.getOpen()
    const stored = await writer.transact(
      { waitMs: deadlineMs, durable: true },
      (connection, breaks) => recordEvents(connection, breaks, rest),
    )
    let next = 0
    return known.map((recorded) => recorded ?? (stored[next++] as Recorded))
  }

  isHeld(): boolean {
    return this.#openSlot !== undefined || this.step !== undefined
  }

  async findKnown(drafts: readonly EventDraft[]): Promise<readonly (Recorded | undefined)[]> {
    const known = await this.connections.read((reader) =>
      drafts.map((draft) => findKnown(reader, draft)),
    )
    this.connections.checkFiles()
    return known
  }

  async beat(since: Date | undefined): Promise<Beat> {
    this.connections.getOpen()
    this.connections.checkFiles()
    return this.connections.read((reader) => beat(reader, since))
  }

  keepClock(options: { always: boolean }): Promise<ClockKept> {
    return keepClock(this.connections, options)
  }

  async countDeliveries(counts: readonly DeliveryCount[]): Promise<void> {
    if (counts.length === 0) return
    await this.connections.write('lazily', (connection, breaks) =>
      countDeliveries(connection, breaks, counts),
    )
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
    const waitMs = this.#options.writeWaitMs
    const createGroup: ClaimContext['createGroup'] = (events, turn) => {
      const { slot, idleTimeoutMs } = request
      return this.#createGroup({ writer, lists, slot, events, idleTimeoutMs }, turn)
    }
    return claimGroup({ writer, lists, waitMs, createGroup }, request)
  }

  #createGroup(input: Omit<GroupInput, 'onOpen' | 'onEnd'>, turn: Turn | undefined): SqliteGroup {
    const name = nameOf(input.slot)
    const onOpen = (): void => void (this.#openSlot = name)
    const onEnd = (): void => {
      this.#groups.delete(name)
      if (this.#openSlot === name) this.#openSlot = undefined
    }
    const group = new SqliteGroup({ ...input, onOpen, onEnd }, turn)
    this.#groups.set(name, group)
    return group
  }

  look(request: LookRequest): Promise<Look> {
    return this.connections.read((reader) => look(reader, request))
  }

  /** With one writer nothing is in the way of a statement, and a file that takes no writes fails at `settle` too. */
  findTrouble(): undefined {
    return undefined
  }

  settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean> {
    const { lists } = this.connections.getOpen()
    return this.connections.write('durably', (connection) =>
      settleLost(connection, settlement, (slot) => lists.isStale(slot)),
    )
  }

  /**
   * `claimGroup` has written the list of a group before the group was made, and the group empties it
   * when it ends (see `sql/claim-group.ts`). While one is open nothing can be written here, so that the
   * list of another slot that has nothing to run any more is emptied when the group has ended.
   */
  async announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    const { lists } = this.connections.getOpen()
    if (this.#groups.has(nameOf(slot))) return
    if (this.isHeld() && running.length === 0) return lists.emptyLater(slot)
    await this.connections.write('lazily', (connection) => {
      announce(connection, { slot, running, process: getOwnProcess() })
      lists.written(slot)
    })
  }

  /** Nothing can be written while a transaction of ours is open. It is a moment of a heart that beats on. */
  async beatWorker(beat: WorkerBeat): Promise<void> {
    if (this.isHeld()) return
    await this.connections.write('lazily', (connection) =>
      beatWorker(connection, beat, getOwnProcess()),
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

  listHandled(): Promise<readonly HandledPattern[]> {
    return this.connections.read(listHandled)
  }

  parkUnhandled(request: {
    kind: DueKind
    topics: readonly Topic[]
    limit: number
  }): Promise<readonly ParkedEvent[]> {
    return this.connections.write('durably', (connection) => parkUnhandled(connection, request))
  }

  listUnhandled(page: { limit: number; after: Topic }): Promise<readonly UnhandledTopic[]> {
    return this.connections.read((reader) => listUnhandled(reader, page))
  }

  async wakeUnhandled(topics: readonly Topic[], limit: number): Promise<number> {
    if (topics.length === 0) return 0
    return this.connections.write('durably', (connection) =>
      wakeUnhandled(connection, topics, limit),
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

  findRequest(eventId: EventId): Promise<Uint8Array | undefined> {
    return this.connections.read((reader) => findRequest(reader, eventId))
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

function nameOf({ workerId, slot }: WorkerSlot): string {
  return `${workerId} ${slot}`
}
