/**
 * `hookonce/mikro-orm`: a handler's `tx` is the `EntityManager` that MikroORM's `em.transactional` gives, on
 * either store.
 *
 * Each handler has a fork with an identity map of its own. Its driver has one connection, which is the lent transaction,
 * so that no way of MikroORM's to open a transaction leads past it. MikroORM 6 speaks through Knex, MikroORM 7 through
 * Kysely. Nothing of MikroORM is imported: the instance brings code and types.
 *
 * What the handler has not flushed is flushed when it returns, as `em.transactional` does it: an event that is done
 * without its effect would be lost, and an error would only ask for what can as well be done.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { TxBinding } from '../store/contract/tx-binding.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import type { LentOrm } from './lent-orm.ts'
import { describeKyselyOrm, isKyselyOrm } from './mikro-orm-kysely.ts'
import { describeKnexOrm, isKnexOrm } from './mikro-orm-knex.ts'
import { refuseConnections } from './refuse-connections.ts'

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
 * @throws OptionInvalidError for what is no instance of MikroORM 6 or 7 for PostgreSQL or SQLite
 */
export function mikroOrmTx<Orm extends MikroOrmInstance>(
  orm: Orm,
): TxBinding<PostgresTx | SqliteTx, MikroOrmTx<Orm>> {
  const { engine, lend } = describe(orm)
  const lent = new WeakMap<PostgresTx | SqliteTx, MikroOrmTx<Orm>>()
  return Object.freeze({
    engine,
    bind: (sql: PostgresTx | SqliteTx) => {
      const em = lend(sql) as MikroOrmTx<Orm>
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

function describe(orm: unknown): LentOrm {
  refuseConnections('mikroOrmTx', orm, 'your instance: mikroOrmTx(orm)')
  const em = (orm as { readonly em?: unknown } | null | undefined)?.em
  if (isKnexOrm(em)) return requireEngine(describeKnexOrm(em))
  if (isKyselyOrm(em)) return requireEngine(describeKyselyOrm(em))
  const wanted = 'an instance of MikroORM 6 or 7 for SQL, as in mikroOrmTx(orm)'
  throw new OptionInvalidError('mikroOrmTx', wanted, orm)
}

function requireEngine(lent: LentOrm | undefined): LentOrm {
  if (lent !== undefined) return lent
  throw new OptionInvalidError('mikroOrmTx', {
    message:
      'mikroOrmTx must be an instance of @mikro-orm/postgresql, or of a driver for SQLite: that of another database cannot speak through a transaction of the store',
  })
}
