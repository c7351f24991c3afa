import type { Store } from '../contract/store.ts'
import { Connections } from './connections.ts'
import { SqliteEvents } from './events.ts'
import { HeldTransactions } from './held-transactions.ts'
import type { SqliteTx } from './lent-tx.ts'
import { SqliteMessages } from './messages.ts'
import { SqliteOperators } from './operators.ts'
import { requireDatabaseFile, resolveSqliteStoreOptions } from './options.ts'
import type { SqliteStoreOptions } from './options.ts'
import { SqliteQueue } from './queue.ts'
import { SqliteSteps } from './steps.ts'
import { SqliteWorkers } from './workers.ts'

/** The store on one SQLite file. Made by `sqliteStore`. */
export class SqliteStore implements Store<SqliteTx> {
  readonly engine = 'sqlite'
  readonly events: SqliteEvents
  readonly queue: SqliteQueue
  readonly workers: SqliteWorkers
  readonly steps: SqliteSteps
  readonly messages: SqliteMessages
  readonly operators: SqliteOperators
  readonly #connections: Connections
  readonly #held: HeldTransactions

  constructor(file: string, options: SqliteStoreOptions = {}) {
    requireDatabaseFile(file)
    const resolved = resolveSqliteStoreOptions(options)
    const connections = new Connections(file, resolved)
    const held = new HeldTransactions()
    this.#connections = connections
    this.#held = held
    this.events = new SqliteEvents(connections, held)
    this.queue = new SqliteQueue(resolved, connections, held)
    this.workers = new SqliteWorkers(connections, held)
    this.steps = new SqliteSteps(connections, held)
    this.messages = new SqliteMessages(resolved.prefix, connections)
    this.operators = new SqliteOperators(connections)
  }

  async open(): Promise<void> {
    await this.#connections.open()
  }

  /** Transactions that are still lent are rolled back, which frees their events. */
  async close(): Promise<void> {
    await this.#connections.close(() => this.#held.abandonAll())
  }

  /** Lets SQLite renew the statistics of its planner, where it thinks they are old. */
  async maintain(): Promise<void> {
    await this.#connections.write('lazily', (connection) => connection.execute('pragma optimize'))
  }
}
