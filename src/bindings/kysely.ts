/**
 * `hookonce/kysely`: a handler's `tx` is a transaction of Kysely's, on either store.
 *
 * On PostgreSQL Kysely's own dialect gets a pool of one client, which is the lent transaction (`asPgClient`). On SQLite
 * Kysely's driver is for a binding that answers at once, so it has a driver of ours beside its own compiler.
 *
 * @module
 */

import type {
  CompiledQuery,
  DatabaseConnection,
  Dialect,
  Driver,
  Kysely,
  KyselyPlugin,
  LogConfig,
  PostgresPoolClient,
  QueryResult,
  Transaction,
} from 'kysely'
import type * as kyselyModule from 'kysely'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { Engine, TxBinding } from '../store/contract/tx-binding.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { quoteName } from '../store/shared/quote-name.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { askSqlite } from './ask-sqlite.ts'
import { loadLibrary, requireLoaded } from './load-library.ts'

type Library = typeof kyselyModule

/**
 * What Kysely gives to the function of `db.transaction().execute(…)`. Unlike that one it can open transactions, which
 * are savepoints, so that code which does so can be called with it.
 */
export type KyselyTx<Database> = Pick<Kysely<Database>, 'transaction' | 'startTransaction'> &
  Transaction<Database>

/** As for Kysely itself. */
export interface KyselyTxOptions {
  /** Plugins, such as `new CamelCasePlugin()`. Left out, there are none. */
  readonly plugins?: KyselyPlugin[]
  /** What is logged. Left out, nothing is. */
  readonly log?: LogConfig
}

/**
 * Kysely on the transaction of a handler: `postgresStore({ pool, tx: kyselyTx<Database>() })`, and the same for
 * `sqliteStore`.
 *
 * @throws OptionInvalidError for an option that is unknown
 */
export function kyselyTx<Database>(
  options: KyselyTxOptions = {},
): TxBinding<PostgresTx | SqliteTx, KyselyTx<Database>> {
  rejectUnknownKeys('kyselyTx', options, ['plugins', 'log'])
  let library: Library | undefined
  return Object.freeze({
    load: async () => {
      library ??= await loadLibrary('kysely', () => import('kysely'))
    },
    bind: (sql: PostgresTx | SqliteTx, engine: Engine) => {
      const kysely = requireLoaded(library)
      const dialect =
        engine === 'postgres'
          ? postgresDialect(kysely, sql as PostgresTx)
          : sqliteDialect(kysely, sql as SqliteTx)
      return asTransaction(new kysely.Kysely<Database>({ ...options, dialect }))
    },
  })
}

function postgresDialect({ PostgresDialect }: Library, sql: PostgresTx): Dialect {
  const client = asPgClient<PostgresPoolClient>(sql)
  const pool = { connect: async () => client, end: async () => undefined }
  return new PostgresDialect({ pool })
}

function sqliteDialect(kysely: Library, sql: SqliteTx): Dialect {
  const adapter = new kysely.SqliteAdapter()
  // With one connection Kysely lets no statement of `tx` pass while a nested transaction runs, and a handler that
  // waits for one there waits until its time is up. Here such a statement runs inside the savepoint.
  Object.defineProperty(adapter, 'supportsMultipleConnections', { value: true })
  return {
    createAdapter: () => adapter,
    createDriver: () => new LentSqliteDriver(sql),
    createIntrospector: (db) => new kysely.SqliteIntrospector(db),
    createQueryCompiler: () => new kysely.SqliteQueryCompiler(),
  }
}

/** What makes another instance from one. Those that an older version does not have are left out. */
const DERIVING = [
  'withPlugin',
  'withoutPlugins',
  'withSchema',
  'withTables',
  '$extendTables',
  '$omitTables',
  '$pickTables',
]

/**
 * Code that asks `isTransaction` to know whether to open one must hear that it is in one. A `Transaction` of Kysely's
 * would say so as well, and throw where code opens one without asking.
 */
function asTransaction<Database>(db: Kysely<Database>): KyselyTx<Database> {
  Object.defineProperty(db, 'isTransaction', { value: true })
  for (const name of DERIVING) {
    const derive: unknown = Reflect.get(db, name)
    if (typeof derive !== 'function') continue
    const value = (...given: unknown[]) =>
      asTransaction(Reflect.apply(derive, db, given) as Kysely<unknown>)
    Object.defineProperty(db, name, { value })
  }
  return db as unknown as KyselyTx<Database>
}

class LentSqliteDriver implements Driver {
  readonly #tx: SqliteTx
  readonly #connection: DatabaseConnection

  constructor(sql: SqliteTx) {
    this.#tx = sql.asNested()
    this.#connection = new LentSqliteConnection(this.#tx)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}

  async beginTransaction(): Promise<void> {
    await this.#tx.query('begin')
  }

  async commitTransaction(): Promise<void> {
    await this.#tx.query('commit')
  }

  async rollbackTransaction(): Promise<void> {
    await this.#tx.query('rollback')
  }

  async savepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#tx.query(`savepoint ${quoteName(name)}`)
  }

  async rollbackToSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#tx.query(`rollback to ${quoteName(name)}`)
  }

  async releaseSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#tx.query(`release ${quoteName(name)}`)
  }
}

class LentSqliteConnection implements DatabaseConnection {
  readonly #tx: SqliteTx

  constructor(tx: SqliteTx) {
    this.#tx = tx
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const { rows, isWrite, changes, lastInsertRowid } = await askSqlite<Row>(
      this.#tx,
      sql,
      parameters,
    )
    if (!isWrite) return { rows }
    const numAffectedRows = BigInt(changes)
    return lastInsertRowid === undefined
      ? { rows, numAffectedRows }
      : { rows, numAffectedRows, insertId: BigInt(lastInsertRowid) }
  }

  /** All of them in one piece: SQLite has read them when the call returns. */
  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query)
  }
}
