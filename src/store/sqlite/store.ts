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
import type { TokenStore } from '../contract/tokens.ts'
import type { WorkerStore } from '../contract/workers.ts'
import { checkKeys } from '../shared/encryption/check-keys.ts'
import { Cipher } from '../shared/encryption/cipher.ts'
import { createStoreOnce } from '../shared/encryption/seal-drafts.ts'
import { sealStore } from '../shared/encryption/seal-store.ts'
import { createBulks } from './bulks.ts'
import { Connections } from './connections.ts'
import { SqliteEvents } from './events.ts'
import { createEventSearch } from './event-search.ts'
import { HeldTransactions } from './held-transactions.ts'
import type { SqliteTx } from './tx.ts'
import { createMessages } from './messages.ts'
import { createOnce } from './once.ts'
import { createOperators } from './operators.ts'
import { requireDatabaseFile, resolveSqliteStoreOptions } from './options.ts'
import type { ResolvedSqliteStoreOptions, SqliteStoreOptions } from './options.ts'
import { createPauses } from './pauses.ts'
import { createLanes } from './lanes.ts'
import { createQueue } from './queue.ts'
import { createReadings } from './readings.ts'
import { createStats } from './stats.ts'
import { createRetention } from './retention.ts'
import { createSteps } from './steps.ts'
import { keepKeys } from './sql/keep-keys.ts'
import { readFailureTexts } from './sql/read-failure-texts.ts'
import { createTokens } from './tokens.ts'
import { createWorkers } from './workers.ts'

/** The store on one SQLite file. Made by `sqliteStore`. */
export class SqliteStore<Tx = SqliteTx> implements Store<SqliteTx, Tx> {
  readonly engine = 'sqlite'
  readonly events: SqliteEvents
  readonly queue: QueueStore<SqliteTx>
  readonly lanes: LaneStore
  readonly workers: WorkerStore
  readonly steps: StepStore<SqliteTx>
  readonly messages: MessageStore<SqliteTx>
  readonly once: OnceStore<SqliteTx>
  readonly operators: OperatorStore
  readonly pauses: PauseStore
  readonly readings: ReadingStore<SqliteTx>
  readonly search: EventSearchStore
  readonly stats: StatsStore
  readonly bulks: BulkStore
  readonly retention: RetentionStore
  readonly tokens: TokenStore
  warnings: readonly string[] = []
  readonly #encryption: ResolvedSqliteStoreOptions<Tx>['encryption']
  readonly #tx: ResolvedSqliteStoreOptions<Tx>['tx']
  readonly #connections: Connections
  readonly #held: HeldTransactions

  constructor(file: string, options: SqliteStoreOptions<Tx> = {}) {
    requireDatabaseFile(file)
    const resolved = resolveSqliteStoreOptions(options)
    this.#tx = resolved.tx
    this.#encryption = resolved.encryption
    const cipher = resolved.encryption && new Cipher(resolved.encryption)
    const connections = new Connections(file, resolved)
    const held = new HeldTransactions()
    this.#connections = connections
    this.#held = held
    this.events = new SqliteEvents(connections, held, cipher)
    const parts = {
      queue: createQueue(connections, held),
      lanes: createLanes(connections),
      steps: createSteps(connections, held),
      messages: createMessages(resolved.prefix, connections),
      once: createOnce(
        resolved.prefix,
        () => this.events.newId(),
        createStoreOnce(cipher),
        connections,
      ),
      operators: createOperators(connections, cipher),
      search: createEventSearch(connections),
    }
    const sealed = sealStore(cipher, parts, (ids) =>
      connections.read((reader) => readFailureTexts(reader, ids)),
    )
    this.queue = sealed.queue
    this.lanes = sealed.lanes
    this.workers = createWorkers(connections, held)
    this.steps = sealed.steps
    this.messages = sealed.messages
    this.once = sealed.once
    this.operators = sealed.operators
    this.pauses = createPauses(connections)
    this.readings = createReadings(connections)
    this.search = sealed.search
    this.stats = createStats(connections)
    this.bulks = createBulks(connections)
    this.retention = createRetention(connections)
    this.tokens = createTokens(connections)
  }

  async open(): Promise<void> {
    await this.#tx?.load?.('sqlite')
    await this.#connections.open()
    try {
      this.warnings = await checkKeys(keepKeys(this.#connections), this.#encryption)
    } catch (error) {
      await this.#connections.close(async () => {})
      throw error
    }
  }

  /** Transactions that are still lent are rolled back, which frees their events. */
  async close(): Promise<void> {
    await this.#connections.close(() => this.#held.abandonAll())
  }

  bindTx(sql: SqliteTx): Tx {
    return this.#tx === undefined ? (sql as Tx) : this.#tx.bind(sql, 'sqlite')
  }

  runBound<Result>(sql: SqliteTx, work: () => Result | Promise<Result>): Promise<Result> {
    return runBound(this.#tx, sql, work)
  }

  /** With one writer nothing is in the way of a statement, and a file that takes no writes fails at `settle` too. */
  findTrouble(): undefined {
    return undefined
  }

  /** Lets SQLite renew the statistics of its planner, where it thinks they are old. */
  async maintain(): Promise<void> {
    await this.#connections.write('lazily', (connection) => connection.execute('pragma optimize'))
  }
}
