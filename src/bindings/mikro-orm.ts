/**
 * `hookonce/mikro-orm`: a handler's `tx` is the `EntityManager` that MikroORM's `em.transactional` gives, on
 * either store.
 *
 * Each handler has a fork with an identity map of its own. Its driver has one connection, which is the lent transaction,
 * so that no way of MikroORM's to open a transaction leads past it. MikroORM 6 speaks through Knex, which is lent as it
 * is for Knex itself. Nothing of MikroORM is imported: the instance brings code and types.
 *
 * What the handler has not flushed is flushed when it returns, as `em.transactional` does it: an event that is done
 * without its effect would be lost, and an error would only ask for what can as well be done.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { Engine, TxBinding } from '../store/contract/tx-binding.ts'
import type { PgTypeParsers } from '../store/postgres/driver.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { asKnexTransaction, lentClass, lentSqliteClass, LENT } from './lent-knex.ts'
import type { KnexClientClass, KnexInstance } from './lent-knex.ts'
import { viewOf } from './view-of.ts'

/** An instance of MikroORM, as far as it is used here. */
export interface MikroOrmInstance {
  readonly em: { flush(): Promise<void> }
}

/** What MikroORM gives to the function of `em.transactional`: the `EntityManager` of its driver. */
export type MikroOrmTx<Orm extends MikroOrmInstance> = Orm['em']

/**
 * MikroORM on the transaction of a handler: `postgresStore({ pool, tx: mikroOrmTx(orm) })`, and the same for
 * `sqliteStore` with an instance for SQLite.
 *
 * @throws OptionInvalidError for what is no instance of MikroORM 6 for PostgreSQL or SQLite
 */
export function mikroOrmTx<Orm extends MikroOrmInstance>(
  orm: Orm,
): TxBinding<PostgresTx | SqliteTx, MikroOrmTx<Orm>> {
  const manager = requireManager(orm)
  const engine = requireEngine(manager)
  const lend = lendManagers(manager, engine)
  const lent = new WeakMap<PostgresTx | SqliteTx, MikroOrmTx<Orm>>()
  return Object.freeze({
    engine,
    bind: (sql: PostgresTx | SqliteTx) => {
      const em = lend(sql) as unknown as MikroOrmTx<Orm>
      lent.set(sql, em)
      return em
    },
    run: async <Result>(sql: PostgresTx | SqliteTx, work: () => Promise<Result>) => {
      const result = await work()
      await lent.get(sql)?.flush()
      return result
    },
  })
}

/** An `EntityManager`, with what its types keep to themselves. */
interface UsedManager {
  readonly driver: { readonly connection: UsedConnection }
  fork(options: { readonly disableContextResolution: true }): UsedManager
  setTransactionContext(transaction: unknown): void
}

/** A connection of MikroORM 6 to a database that it speaks SQL with. */
interface UsedConnection {
  readonly config: unknown
  getKnex(): { readonly client: object }
  createKnexClient(dialect: KnexClientClass): KnexInstance & { readonly client: object }
  getConnectionOptions(): { readonly types?: PgTypeParsers }
}

function requireManager(orm: unknown): UsedManager {
  const em = (orm as { readonly em?: Partial<UsedManager> } | null | undefined)?.em
  const connection = em?.driver?.connection as Partial<UsedConnection> | undefined
  if (typeof em?.fork !== 'function' || typeof connection?.createKnexClient !== 'function') {
    const wanted = 'an instance of MikroORM 6 for SQL, as in mikroOrmTx(orm)'
    throw new OptionInvalidError('mikroOrmTx', wanted, orm)
  }
  return em as UsedManager
}

/** By what Knex calls its dialect. All of MikroORM's drivers for SQLite have the same. */
const ENGINES: Readonly<Record<string, Engine>> = { postgresql: 'postgres', sqlite3: 'sqlite' }

function requireEngine({ driver }: UsedManager): Engine {
  const { dialect } = driver.connection.getKnex().client as { readonly dialect?: string }
  const engine = ENGINES[dialect ?? '']
  if (engine !== undefined) return engine
  const wanted = 'an instance of @mikro-orm/postgresql, or of a driver for SQLite'
  throw new OptionInvalidError('mikroOrmTx', wanted, dialect)
}

/** Of a `manager` that is the instance's own, a fork on each transaction. */
function lendManagers(
  manager: UsedManager,
  engine: Engine,
): (sql: PostgresTx | SqliteTx) => UsedManager {
  const { connection } = manager.driver
  const { dialect, connect } = describeKnex(connection, engine)
  return (sql) => {
    const lent = viewOf(connection, {
      // Instead of what tells Knex of a pool.
      getKnexOptions: () => ({ client: dialect, useNullAsDefault: true, [LENT]: connect(sql) }),
      connected: true,
    })
    const knex = lent.createKnexClient(dialect)
    Object.assign(knex.client, { ormConfig: connection.config })
    Object.assign(lent, { client: knex })
    const driver = viewOf(manager.driver, { connection: lent, replicas: [] })
    const em = viewOf(manager, { driver }).fork({ disableContextResolution: true })
    em.setTransactionContext(asKnexTransaction(knex, sql))
    return em
  }
}

function describeKnex(connection: UsedConnection, engine: Engine) {
  const dialect = connection.getKnex().client.constructor as KnexClientClass
  if (engine === 'sqlite')
    return {
      dialect: lentSqliteClass(dialect),
      connect: (sql: PostgresTx | SqliteTx) => ({ tx: (sql as SqliteTx).asNested() }),
    }
  const { types } = connection.getConnectionOptions()
  return {
    dialect: lentClass(dialect),
    connect: (sql: PostgresTx | SqliteTx) => asPgClient(sql as PostgresTx, types),
  }
}
