import { HookonceError } from '../../errors.ts'
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
  Heart,
  OutcomeView,
  RunningEvent,
  Store,
  StoreTrouble,
  SweptEvent,
  HandledPattern,
  Look,
  LookRequest,
  ParkedEvent,
  UnhandledTopic,
  WorkerBeat,
  WorkerSlot,
} from '../contract/store.ts'
import { numberDrafts } from '../shared/numbered-draft.ts'
import { checkServer } from './check-server.ts'
import { GroupClaimer } from './claim-group.ts'
import { Connections } from './connections.ts'
import type { PostgresTx } from './driver.ts'
import { PostgresGroup } from './group.ts'
import { isEventId } from './is-event-id.ts'
import { Listener } from './listener.ts'
import { lockNumber } from './lock-number.ts'
import { migrate } from './migrate.ts'
import { requirePoolSize } from './options.ts'
import type { ResolvedPostgresOptions } from './options.ts'
import { BatchRecorder } from './record-batch.ts'
import { StatementNames } from './statement-names.ts'
import { HELD_STATEMENT_TIMEOUT_MS, PostgresSteps } from './steps.ts'
import { asStoreError, findSqlState, findTrouble } from './store-error.ts'
import { announce } from './sql/announce.ts'
import { CAN_READ_CONTROL, beat } from './sql/beat.ts'
import { beatWorker } from './sql/beat-worker.ts'
import { countDeliveries } from './sql/count-deliveries.ts'
import { countEvents } from './sql/count-events.ts'
import { ensurePartitions } from './sql/ensure-partitions.ts'
import { findEvent } from './sql/find-event.ts'
import { findOutcome } from './sql/find-outcome.ts'
import { findRequest } from './sql/find-request.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { keepClock } from './sql/keep-clock.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { listHandled } from './sql/list-handled.ts'
import { listHearts, lockStopped } from './sql/list-hearts.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { look } from './sql/look.ts'
import { nudgeEvent } from './sql/nudge-event.ts'
import { parkUnhandled } from './sql/park-unhandled.ts'
import { removeWorker } from './sql/remove-worker.ts'
import { retryEvent } from './sql/retry-event.ts'
import { SETTLE_LOST, settleLost } from './sql/settle-lost.ts'
import { sweepLeases } from './sql/sweep-leases.ts'
import { sweepWorkers } from './sql/sweep-workers.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'

/** Making tables may wait for other processes that do the same. */
const MIGRATE_TIMEOUT_MS = 120_000

/** The store on a PostgreSQL database. Made by `postgresStore`. */
export class PostgresStore extends PostgresSteps implements Store<PostgresTx> {
  readonly engine = 'postgres'
  readonly recordConcurrency = 3
  warnings: readonly string[] = []
  readonly #options: ResolvedPostgresOptions
  readonly #claimer: GroupClaimer
  readonly #recorder: BatchRecorder
  readonly #names = new StatementNames()
  readonly #listeners = new Set<Listener>()
  readonly #channel: string
  readonly #nextId: () => EventId
  readonly #topics = new Topics()
  #skewMs = 0
  #canReadControl = false

  constructor(options: ResolvedPostgresOptions) {
    super(new Connections(options.pool, options.schema), options.schema)
    this.#options = options
    this.#claimer = new GroupClaimer(this.suspectLock, this.watcher)
    this.#recorder = new BatchRecorder(async (timeoutMs) => this.connections.checkOut(timeoutMs))
    this.#channel = `hookonce_${lockNumber(options.schema, 'wake')}`
    // Ids follow the database's clock, or a process that is ahead would hide behind low-water positions and partitions.
    this.#nextId = createUuidV7Generator(() => Date.now() - this.#skewMs)
  }

  async open(): Promise<void> {
    const { schema, migrate: mode, allowUnsafe } = this.#options
    await this.connections.reach(async (connection) => {
      const { traits, warnings } = await checkServer(connection, { allowUnsafe })
      this.connections.noteServer(traits)
      this.warnings = warnings
    })
    try {
      await migrate(await this.connections.checkOut(MIGRATE_TIMEOUT_MS), schema, mode)
    } catch (error) {
      throw asStoreError(error)
    }
    await this.connections.use(async (connection) => {
      const { rows } = await connection.query<'is_allowed'>(CAN_READ_CONTROL)
      this.#canReadControl = rows[0]?.is_allowed === 't'
    })
    await this.beat(undefined)
  }

  async close(): Promise<void> {
    this.connections.refuseFurther()
    await Promise.all([...this.#listeners].map((listener) => listener.stop()))
    this.#listeners.clear()
    // A caller that closes the store with transactions open does not want them: their events are free again.
    await Promise.all([...this.held].map((transaction) => transaction.abandon()))
    await this.connections.close()
  }

  // ── receive ──────────────────────────────────────────────────────────────────────────────────

  async recordEvents(
    drafts: readonly EventDraft[],
    { deadlineMs }: { deadlineMs: number },
  ): Promise<readonly Recorded[]> {
    if (drafts.length === 0) return []
    return this.#recorder.record(
      numberDrafts(drafts, { newId: this.#nextId, topics: this.#topics }),
      deadlineMs,
    )
  }

  async beat(since: Date | undefined): Promise<Beat> {
    return this.connections.use(async (connection) => {
      const askedAt = Date.now()
      const { nowMs, ...found } = await beat(connection, {
        since,
        canReadControl: this.#canReadControl,
      })
      this.#skewMs = (askedAt + Date.now()) / 2 - nowMs
      return { ...found, skewMs: Math.round(this.#skewMs) }
    })
  }

  async keepClock(options: { always: boolean }): Promise<ClockKept> {
    return keepClock(this.connections, options)
  }

  requireCapacity(concurrency: number): void {
    requirePoolSize(this.#options.pool, concurrency)
  }

  async countDeliveries(counts: readonly DeliveryCount[]): Promise<void> {
    if (counts.length === 0) return
    await this.connections.use(async (connection) => countDeliveries(connection, counts))
  }

  async findOutcome(eventId: EventId): Promise<OutcomeView | undefined> {
    return isEventId(eventId)
      ? this.connections.use(async (connection) => findOutcome(connection, eventId))
      : undefined
  }

  async nudgeEvent(eventId: EventId): Promise<void> {
    if (isEventId(eventId))
      await this.connections.transact(async (connection) => nudgeEvent(connection, eventId))
  }

  // ── work ─────────────────────────────────────────────────────────────────────────────────────

  async claimGroup(request: ClaimRequest): Promise<Group<PostgresTx> | undefined> {
    const connection = await this.connections.checkOut()
    connection.limitEachTo(HELD_STATEMENT_TIMEOUT_MS)
    try {
      const claimed = await this.#claimer.claim(connection, request)
      if (claimed === undefined) return undefined
      const { events, pid, xid, watch } = claimed
      const group = new PostgresGroup({
        connection,
        events,
        xid,
        watch,
        names: connection.client.processID === pid ? this.#names : undefined,
        cancel: async () => this.cancelStatement(pid),
        onEnd: (ended) => this.held.delete(ended),
      })
      this.held.add(group)
      return group
    } catch (error) {
      throw asStoreError(error)
    }
  }

  async look(request: LookRequest): Promise<Look> {
    return this.connections.use(async (connection) => look(connection, request, this.suspectLock))
  }

  async settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean> {
    try {
      return await this.connections.transact(
        async (connection) => settleLost(connection, settlement),
        SETTLE_LOST,
      )
    } catch (error) {
      // Another transaction holds the event.
      if (findStateOf(error) === '55P03') return false
      throw error
    }
  }

  findTrouble(error: unknown): StoreTrouble | undefined {
    return findTrouble(error)
  }

  async announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    await this.connections.useControl(async (connection) => announce(connection, slot, running))
  }

  async beatWorker(beat: WorkerBeat): Promise<void> {
    await this.connections.useControl(async (connection) => beatWorker(connection, beat))
  }

  async removeWorker(workerId: string): Promise<void> {
    await this.connections.useControl(async (connection) => removeWorker(connection, workerId))
  }

  async listHearts(): Promise<readonly Heart[]> {
    return this.connections.useControl(async (connection) => listHearts(connection))
  }

  async sweepWorkers({
    stopped,
    crashesMax,
  }: {
    stopped: readonly Heart[]
    crashesMax: number
  }): Promise<readonly SweptEvent[]> {
    return this.connections.transactOnControl(async (connection) => {
      const dead = await lockStopped(connection, stopped)
      return [
        ...(await sweepLeases(connection, { dead, crashesMax })),
        ...(await sweepWorkers(connection, { dead, crashesMax })),
      ]
    })
  }

  async listHandled(): Promise<readonly HandledPattern[]> {
    return this.connections.use(async (connection) => listHandled(connection))
  }

  async parkUnhandled(request: {
    kind: DueKind
    topics: readonly Topic[]
    limit: number
  }): Promise<readonly ParkedEvent[]> {
    return this.connections.transact(async (connection) => parkUnhandled(connection, request))
  }

  async listUnhandled(page: { limit: number; after: Topic }): Promise<readonly UnhandledTopic[]> {
    return this.connections.use(async (connection) => listUnhandled(connection, page))
  }

  async wakeUnhandled(topics: readonly Topic[], limit: number): Promise<number> {
    if (topics.length === 0) return 0
    return this.connections.transact(async (connection) => wakeUnhandled(connection, topics, limit))
  }

  async listen(wake: () => void): Promise<() => Promise<void>> {
    const listener = new Listener(async () => this.connections.checkOut(), this.#channel, wake)
    this.#listeners.add(listener)
    await listener.start()
    return async () => {
      this.#listeners.delete(listener)
      await listener.stop()
    }
  }

  async notify(): Promise<void> {
    await this.connections.useMade(async (connection) =>
      connection.query("select pg_notify($1, '')", [this.#channel]),
    )
  }

  /** A role that may not create tables leaves the making of partitions to one that may. */
  async maintain(): Promise<void> {
    try {
      await this.connections.transact(async (connection) => {
        const lock = lockNumber(this.#options.schema, 'migrate')
        await connection.query('select pg_advisory_xact_lock($1)', [lock])
        await ensurePartitions(connection)
      })
    } catch (error) {
      if (!TOLERATED_BY_MAINTAIN.has(findStateOf(error) ?? '')) throw error
    }
  }

  // ── operators ────────────────────────────────────────────────────────────────────────────────

  async findEvent(eventId: EventId): Promise<EventRecord | undefined> {
    return isEventId(eventId)
      ? this.connections.use(async (connection) => findEvent(connection, eventId))
      : undefined
  }

  async findRequest(eventId: EventId): Promise<Uint8Array | undefined> {
    return isEventId(eventId)
      ? this.connections.use(async (connection) => findRequest(connection, eventId))
      : undefined
  }

  async listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]> {
    return this.connections.use(async (connection) => listEventsByKey(connection, source, key))
  }

  async countEvents(source?: string): Promise<number> {
    return this.connections.use(async (connection) => countEvents(connection, source))
  }

  async forgetEvent(eventId: EventId): Promise<boolean> {
    return (
      isEventId(eventId) &&
      this.connections.transact(async (connection) => forgetEvent(connection, eventId))
    )
  }

  async listDead(limit: number): Promise<readonly EventRecord[]> {
    return this.connections.use(async (connection) => listDead(connection, limit))
  }

  async retryEvent(eventId: EventId): Promise<boolean> {
    return (
      isEventId(eventId) &&
      this.connections.transact(async (connection) => retryEvent(connection, eventId))
    )
  }
}

/** No right to, no lock in time, or rows in the default partition that are in the way. */
const TOLERATED_BY_MAINTAIN: ReadonlySet<string> = new Set(['42501', '55P03', '57014', '23514'])

/** PostgreSQL's name for what is behind an error of ours. */
function findStateOf(error: unknown): string | undefined {
  return findSqlState(error instanceof HookonceError ? error.cause : error)
}
