/**
 * `hookonce/mikro-orm`: a handler's `tx` is the `EntityManager` that MikroORM's `em.transactional` gives, on PostgreSQL.
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
import type { TxBinding } from '../store/contract/tx-binding.ts'
import type { PgTypeParsers } from '../store/postgres/driver.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { asKnexTransaction, lentClass, LENT } from './lent-knex.ts'
import type { KnexClientClass, KnexInstance } from './lent-knex.ts'

/** An instance of MikroORM, as far as it is used here. */
export interface MikroOrmInstance {
  readonly em: { flush(): Promise<void> }
}

/** What MikroORM gives to the function of `em.transactional`: the `EntityManager` of its driver. */
export type MikroOrmTx<Orm extends MikroOrmInstance> = Orm['em']

/**
 * MikroORM on the transaction of a handler: `postgresStore({ pool, tx: mikroOrmTx(orm) })`.
 *
 * @throws OptionInvalidError for what is no instance of MikroORM 6 for PostgreSQL
 */
export function mikroOrmTx<Orm extends MikroOrmInstance>(
  orm: Orm,
): TxBinding<PostgresTx, MikroOrmTx<Orm>> {
  const lend = lendManagers(requireManager(orm))
  const lent = new WeakMap<PostgresTx, MikroOrmTx<Orm>>()
  return Object.freeze({
    engine: 'postgres' as const,
    bind: (sql: PostgresTx) => {
      const em = lend(sql) as unknown as MikroOrmTx<Orm>
      lent.set(sql, em)
      return em
    },
    run: async <Result>(sql: PostgresTx, work: () => Promise<Result>) => {
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
  const { dialect } = connection.getKnex?.().client as { readonly dialect?: unknown }
  if (dialect === 'postgresql') return em as UsedManager
  throw new OptionInvalidError('mikroOrmTx', 'an instance of @mikro-orm/postgresql', dialect)
}

/** Of a `manager` that is the instance's own, a fork on each transaction. */
function lendManagers(manager: UsedManager): (sql: PostgresTx) => UsedManager {
  const { connection } = manager.driver
  const dialect = lentClass(connection.getKnex().client.constructor as KnexClientClass)
  const { types } = connection.getConnectionOptions()
  return (sql) => {
    const lent = viewOf(connection, {
      // Instead of what tells Knex of a pool.
      getKnexOptions: () => ({ client: dialect, [LENT]: asPgClient(sql, types) }),
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

/** The same object to the library but for these members, and untouched. */
function viewOf<Viewed extends object>(viewed: Viewed, members: object): Viewed {
  return Object.assign(Object.create(viewed) as Viewed, members)
}
