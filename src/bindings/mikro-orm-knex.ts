/**
 * MikroORM 6, which speaks through a Knex of its own. It is lent as it is for Knex itself.
 *
 * @module
 */

import type { Engine } from '../store/contract/tx-binding.ts'
import type { PgTypeParsers } from '../store/postgres/driver.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import {
  asKnexTransaction,
  lendConnections,
  lentClass,
  lentSqliteClass,
  LENT,
} from './lent-knex.ts'
import type { KnexClientClass, KnexInstance } from './lent-knex.ts'
import type { LentOrm } from './lent-orm.ts'
import { viewOf } from './view-of.ts'

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

export function isKnexOrm(manager: unknown): manager is UsedManager {
  const em = manager as Partial<UsedManager> | undefined
  const connection = em?.driver?.connection as Partial<UsedConnection> | undefined
  return typeof em?.fork === 'function' && typeof connection?.createKnexClient === 'function'
}

/** By what Knex calls its dialect. All of MikroORM's drivers for SQLite have the same. */
const ENGINES: Readonly<Record<string, Engine>> = { postgresql: 'postgres', sqlite3: 'sqlite' }

/** Of the instance's own manager. `undefined` for one of another database. */
export function describeKnexOrm(manager: UsedManager): LentOrm | undefined {
  const { connection } = manager.driver
  const { dialect: name = '' } = connection.getKnex().client as { readonly dialect?: string }
  const engine = ENGINES[name]
  if (engine === undefined) return undefined
  const { dialect, connect } = describeKnex(connection, engine)
  const lend = (sql: PostgresTx | SqliteTx): UsedManager => {
    const lent = viewOf(connection, {
      // Instead of what tells Knex of a pool.
      getKnexOptions: () => ({
        client: dialect,
        useNullAsDefault: true,
        [LENT]: lendConnections(() => connect(sql)),
      }),
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
  return { engine, lend }
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
