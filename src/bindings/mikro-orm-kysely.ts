/**
 * MikroORM 7, which speaks through a Kysely of its own.
 *
 * Its objects keep what they are made of to themselves, so that no view of one would do. A connection is made anew, of
 * the class of the instance's, on a Kysely whose driver is the lent transaction. A manager is a fork of a fork: the first
 * one is ours, and is told of that connection before it is forked.
 *
 * @module
 */

import type { Dialect, Kysely } from 'kysely'
import type { Engine } from '../store/contract/tx-binding.ts'
import type { PgTypeParsers } from '../store/postgres/driver.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { asTransaction } from './kysely-transaction.ts'
import {
  lender,
  LentKyselyDriver,
  LentPostgresConnection,
  LentSqliteConnection,
  withManyConnections,
} from './lent-kysely.ts'
import type { LentConnection } from './lent-kysely.ts'
import type { LentOrm } from './lent-orm.ts'
import { viewOf } from './view-of.ts'

type Database = Kysely<unknown>

/** An `EntityManager`, with what its types keep to themselves. */
interface UsedManager {
  driver: { readonly connection: UsedConnection }
  fork(options: { readonly disableContextResolution: true }): UsedManager
  setTransactionContext(transaction: unknown): void
}

/** A connection of MikroORM 7 to a database that it speaks SQL with. */
interface UsedConnection {
  readonly config: unknown
  readonly metadata: unknown
  options: object
  connected: boolean
  getClient(): Database
  createKyselyDialect(options: object): Dialect
  begin(options?: BeginOptions): Promise<unknown>
  setMetadata(metadata: unknown): void
  /** Of those for PostgreSQL: what their pool is made with. */
  mapOptions?(options: object): { readonly types?: PgTypeParsers }
}

type ConnectionClass = new (config: unknown) => UsedConnection

/** What MikroORM says of a transaction that it opens. */
interface BeginOptions {
  /** The one that it is inside of. */
  readonly ctx?: unknown
  /** What the session is told of at the begin of an outermost one. */
  readonly sessionContext?: unknown
}

export function isKyselyOrm(manager: unknown): manager is UsedManager {
  const em = manager as Partial<UsedManager> | undefined
  const connection = em?.driver?.connection as Partial<UsedConnection> | undefined
  return typeof em?.fork === 'function' && typeof connection?.createKyselyDialect === 'function'
}

/** Of the instance's own manager. `undefined` for one of another database. */
export function describeKyselyOrm(manager: UsedManager): LentOrm | undefined {
  const { connection } = manager.driver
  const database = connection.getClient()
  const engine = engineOf(database)
  if (engine === undefined) return undefined
  const types = connection.mapOptions?.({}).types
  const connect = (sql: PostgresTx | SqliteTx): LentConnection =>
    engine === 'postgres'
      ? new LentPostgresConnection(sql as PostgresTx, types)
      : new LentSqliteConnection(sql as SqliteTx)
  const lend = (sql: PostgresTx | SqliteTx): UsedManager => {
    const speak = (isShared: boolean) => dialectOf(database, () => connect(sql), isShared)
    const lent = connectionOf(connection, speak(false))
    const own = manager.fork({ disableContextResolution: true })
    own.driver = viewOf(manager.driver, { connection: lent, replicas: [] })
    const em = own.fork({ disableContextResolution: true })
    em.setTransactionContext(transactionOf(database, speak, sql))
    return em
  }
  return { engine, lend }
}

/** By what Kysely's adapters say of them. MySQL has no RETURNING, SQL Server another one. */
function engineOf(database: Database): Engine | undefined {
  const { supportsReturning, supportsTransactionalDdl } = database.getExecutor().adapter
  if (!supportsReturning) return undefined
  return supportsTransactionalDdl ? 'postgres' : 'sqlite'
}

/** The dialect of the user's database, but for its connections. */
function dialectOf(database: Database, open: () => LentConnection, isShared: boolean): Dialect {
  const lend = lender(open, isShared)
  const executor = database.getExecutor()
  const adapter = withManyConnections(viewOf(executor.adapter, {}))
  const { constructor: Introspector } = database.introspection
  return {
    createAdapter: () => adapter,
    createDriver: () => new LentKyselyDriver(lend),
    createIntrospector: (db) =>
      Reflect.construct(Introspector, [db]) as ReturnType<Dialect['createIntrospector']>,
    createQueryCompiler: () => ({
      compileQuery: (node, queryId) => executor.compileQuery(node, queryId),
    }),
  }
}

/** What MikroORM takes for a connection of its own. Each transaction that it opens has another speaker. */
function connectionOf(connection: UsedConnection, dialect: Dialect): UsedConnection {
  const Connection = connection.constructor as ConnectionClass
  const lent = new Connection(connection.config)
  lent.setMetadata(connection.metadata)
  // A Kysely or a dialect that the user has given has connections of its own.
  lent.options = { ...connection.options, driverOptions: {} }
  const begin = lent.begin.bind(lent)
  Object.assign(lent, {
    connected: true,
    createKyselyDialect: () => dialect,
    // Never inside of another, by a savepoint: MikroORM leaves it open when it goes back to it, which looks like an
    // await that is missing. BEGIN is a savepoint here.
    begin: async ({ ctx, sessionContext, ...options }: BeginOptions = {}) =>
      begin(ctx === undefined ? { ...options, sessionContext } : options),
  })
  lent.getClient()
  return lent
}

/** The handler's own, which MikroORM cannot end. */
function transactionOf(
  database: Database,
  speak: (isShared: boolean) => Dialect,
  sql: PostgresTx | SqliteTx,
): object {
  const { constructor: KyselyClass } = database
  const plugins = [...database.getExecutor().plugins]
  const open = (isShared: boolean) =>
    Reflect.construct(KyselyClass, [{ dialect: speak(isShared), plugins }]) as Database
  const nested: { query(text: string): Promise<unknown> } = sql.asNested()
  const ending = (text: string) => () => ({ execute: async () => nested.query(text) })
  return Object.assign(
    asTransaction(open(true), () => open(false)),
    { commit: ending('commit'), rollback: ending('rollback') },
  )
}
