import { runBound } from '../contract/tx-binding.ts'
import type { BulkStore } from '../contract/bulks.ts'
import type { EventSearchStore } from '../contract/event-search.ts'
import type { MessageStore } from '../contract/messages.ts'
import type { OnceStore } from '../contract/once.ts'
import type { OperatorStore } from '../contract/operators.ts'
import type { PauseStore } from '../contract/pauses.ts'
import type { LaneStore } from '../contract/lanes.ts'
import type { QueueStore } from '../contract/queue.ts'
import type { ReadingStore } from '../contract/readings.ts'
import type { StatsStore } from '../contract/stats.ts'
import type { RetentionStore } from '../contract/retention.ts'
import type { StepStore } from '../contract/steps.ts'
import type { Store } from '../contract/store.ts'
import type { StoreTrouble } from '../contract/store-trouble.ts'
import type { TokenStore } from '../contract/tokens.ts'
import type { WorkerStore } from '../contract/workers.ts'
import { checkKeys } from '../shared/encryption/check-keys.ts'
import { Cipher } from '../shared/encryption/cipher.ts'
import { createStoreOnce } from '../shared/encryption/seal-drafts.ts'
import { sealStore } from '../shared/encryption/seal-store.ts'
import { createBulks } from './bulks.ts'
import { checkServer } from './check-server.ts'
import { Connections } from './connections.ts'
import type { PostgresTx } from './tx.ts'
import { PostgresEvents } from './events.ts'
import { createEventSearch } from './event-search.ts'
import { HeldTransactions } from './held-transactions.ts'
import { Listeners } from './listeners.ts'
import { lockNumber } from './lock-number.ts'
import { createMessages } from './messages.ts'
import { migrate } from './migrate.ts'
import { createOnce } from './once.ts'
import { createOperators } from './operators.ts'
import type { ResolvedPostgresStoreOptions } from './options.ts'
import { createPauses } from './pauses.ts'
import { createLanes } from './lanes.ts'
import { createQueue } from './queue.ts'
import { createReadings } from './readings.ts'
import { createStats } from './stats.ts'
import { createRetention } from './retention.ts'
import { createSteps } from './steps.ts'
import { asStoreError, findStateBehind, findTrouble } from './store-error.ts'
import { ensurePartitions } from './sql/ensure-partitions.ts'
import { keepKeys } from './sql/keep-keys.ts'
import { readFailureTexts } from './sql/read-failure-texts.ts'
import { createTokens } from './tokens.ts'
import { createWorkers } from './workers.ts'

/** Making tables may wait for other processes that do the same. */
const MIGRATE_TIMEOUT_MS = 120_000

/** The store on a PostgreSQL database. Made by `postgresStore`. */
export class PostgresStore<Tx = PostgresTx> implements Store<PostgresTx, Tx> {
  readonly engine = 'postgres'
  readonly events: PostgresEvents
  readonly queue: QueueStore<PostgresTx>
  readonly lanes: LaneStore
  readonly workers: WorkerStore
  readonly steps: StepStore<PostgresTx>
  readonly messages: MessageStore<PostgresTx>
  readonly once: OnceStore<PostgresTx>
  readonly operators: OperatorStore
  readonly pauses: PauseStore
  readonly readings: ReadingStore<PostgresTx>
  readonly search: EventSearchStore
  readonly stats: StatsStore
  readonly bulks: BulkStore
  readonly retention: RetentionStore
  readonly tokens: TokenStore
  warnings: readonly string[] = []
  readonly #options: ResolvedPostgresStoreOptions<Tx>
  readonly #connections: Connections
  readonly #held: HeldTransactions
  readonly #listeners: Listeners

  constructor(options: ResolvedPostgresStoreOptions<Tx>) {
    const { pool, schema, encryption } = options
    const cipher = encryption && new Cipher(encryption)
    const connections = new Connections(pool, schema)
    const held = new HeldTransactions(connections)
    this.#options = options
    this.#connections = connections
    this.#held = held
    this.#listeners = new Listeners(schema, connections)
    this.events = new PostgresEvents(connections, cipher)
    const parts = {
      queue: createQueue({ options, connections, held, listeners: this.#listeners }),
      lanes: createLanes(connections, options.schema),
      steps: createSteps(schema, connections, held),
      messages: createMessages(schema, connections),
      once: createOnce(schema, () => this.events.newId(), createStoreOnce(cipher)),
      operators: createOperators(connections, cipher),
      search: createEventSearch(connections),
    }
    const sealed = sealStore(cipher, parts, (ids) =>
      connections.use((connection) => readFailureTexts(connection, ids)),
    )
    this.queue = sealed.queue
    this.lanes = sealed.lanes
    this.workers = createWorkers(connections)
    this.steps = sealed.steps
    this.messages = sealed.messages
    this.once = sealed.once
    this.operators = sealed.operators
    this.pauses = createPauses(connections, schema)
    this.readings = createReadings(held)
    this.search = sealed.search
    this.stats = createStats(connections)
    this.bulks = createBulks(connections)
    this.retention = createRetention(connections)
    this.tokens = createTokens(connections)
  }

  async open(): Promise<void> {
    const { schema, migrate: mode, allowUnsafe, tx } = this.#options
    await tx?.load?.('postgres')
    await this.#connections.reach(async (connection) => {
      const { traits, warnings } = await checkServer(connection, { allowUnsafe })
      this.#connections.noteServer(traits)
      this.warnings = warnings
    })
    try {
      const connection = await this.#connections.checkOut(MIGRATE_TIMEOUT_MS)
      this.warnings = [...this.warnings, ...(await migrate(connection, schema, mode))]
    } catch (error) {
      throw asStoreError(error)
    }
    const told = await checkKeys(keepKeys(this.#connections), this.#options.encryption)
    this.warnings = [...this.warnings, ...told]
    await this.events.open()
  }

  /** Transactions that are still lent are rolled back, which frees their events. */
  async close(): Promise<void> {
    this.#connections.refuseFurther()
    await this.#listeners.close()
    await this.#held.abandonAll()
    await this.#connections.close()
  }

  bindTx(sql: PostgresTx): Tx {
    const { tx } = this.#options
    return tx === undefined ? (sql as Tx) : tx.bind(sql, 'postgres')
  }

  runBound<Result>(sql: PostgresTx, work: () => Result | Promise<Result>): Promise<Result> {
    return runBound(this.#options.tx, sql, work)
  }

  findTrouble(error: unknown): StoreTrouble | undefined {
    return findTrouble(error)
  }

  /** A role that may not create tables leaves the making of partitions to one that may. */
  async maintain(): Promise<void> {
    try {
      await this.#connections.transact(async (connection) => {
        const lock = lockNumber(this.#options.schema, 'migrate')
        await connection.query('select pg_advisory_xact_lock($1)', [lock])
        await ensurePartitions(connection)
      })
    } catch (error) {
      if (!TOLERATED_BY_MAINTAIN.has(findStateBehind(error) ?? '')) throw error
    }
  }
}

/** No right to, no lock in time, or rows in the default partition that are in the way. */
const TOLERATED_BY_MAINTAIN: ReadonlySet<string> = new Set(['42501', '55P03', '57014', '23514'])
