/**
 * `hookonce/knex`: a handler's `tx` is a transaction of Knex's, on either store.
 *
 * A client of Knex's that has one connection, which is the lent transaction, and no pool. On PostgreSQL that is a
 * client of `pg` (`asPgClient`) and the rest is Knex's own; on SQLite statements are run by ours.
 *
 * @module
 */

import type { Knex } from 'knex'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { Engine, TxBinding } from '../store/contract/tx-binding.ts'
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
import type { KnexClientClass } from './lent-knex.ts'
import { loadLibrary, requireLoaded } from './load-library.ts'
import { refuseConnections } from './refuse-connections.ts'

/** As for Knex itself, as far as it is about statements and not about connections. */
export type KnexTxOptions = Pick<
  Knex.Config,
  'wrapIdentifier' | 'postProcessResponse' | 'useNullAsDefault' | 'log' | 'debug'
>

/**
 * Knex on the transaction of a handler: `postgresStore({ pool, tx: knexTx() })`, and the same for `sqliteStore`.
 *
 * @throws OptionInvalidError for an option that is unknown, and for an instance of Knex or a pool
 */
export function knexTx(
  options: KnexTxOptions = {},
): TxBinding<PostgresTx | SqliteTx, Knex.Transaction> {
  refuseConnections('knexTx', options, 'options such as knexTx({ wrapIdentifier }), or nothing')
  rejectUnknownKeys('knexTx', options, OPTION_NAMES)
  const prepared = new Map<Engine, (sql: PostgresTx | SqliteTx) => Knex.Transaction>()
  return Object.freeze({
    load: async (engine: Engine) => {
      if (!prepared.has(engine)) prepared.set(engine, await prepare(options, engine))
    },
    bind: (sql: PostgresTx | SqliteTx, engine: Engine) => requireLoaded(prepared.get(engine))(sql),
  })
}

const OPTION_NAMES = ['wrapIdentifier', 'postProcessResponse', 'useNullAsDefault', 'log', 'debug']

async function prepare(
  options: KnexTxOptions,
  engine: Engine,
): Promise<(sql: PostgresTx | SqliteTx) => Knex.Transaction> {
  const { knex } = await loadLibrary('knex', async () => {
    const library = await import('knex')
    // A bundler finds the file for modules of Knex 2, which names it beside the default.
    return 'knex' in library.default ? library.default : (library as typeof library.default)
  })
  // Without a connection Knex loads no driver.
  const settings =
    engine === 'postgres'
      ? { ...options, client: 'pg' }
      : // SQLite has no DEFAULT among values; Knex warns unless it is told.
        { useNullAsDefault: true, ...options, client: 'better-sqlite3' }
  const client = knex(settings).client as object
  const dialect = client.constructor as KnexClientClass
  const lentClient = engine === 'postgres' ? lentClass(dialect) : lentSqliteClass(dialect)
  return (sql) => {
    const open =
      engine === 'postgres'
        ? () => asPgClient(sql as PostgresTx)
        : () => ({ tx: (sql as SqliteTx).asNested() })
    const config = { ...settings, client: lentClient, [LENT]: lendConnections(open) }
    return asKnexTransaction(knex(config as unknown as Knex.Config), sql) as Knex.Transaction
  }
}
