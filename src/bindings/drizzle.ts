/**
 * `hookonce/drizzle`: a handler's `tx` is that of Drizzle's `db.transaction`, on PostgreSQL.
 *
 * Drizzle speaks to a client of `pg` that is the lent transaction (`asPgClient`), through its own driver for
 * `node-postgres`. Only classes that Drizzle exports are used. What is read from the schema is read once, when the
 * store opens, and not for every event.
 *
 * @module
 */

import type { ExtractTablesWithRelations } from 'drizzle-orm'
import type { NodePgQueryResultHKT } from 'drizzle-orm/node-postgres'
import type { PgTransaction } from 'drizzle-orm/pg-core'
import type { TxBinding } from '../store/contract/tx-binding.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { nestTransactions, requireDrizzleOptions, resolveForDrizzle } from './drizzle-options.ts'
import type { DrizzleTxOptions } from './drizzle-options.ts'
import { loadLibrary, requireLoaded } from './load-library.ts'

export type { DrizzleTxOptions } from './drizzle-options.ts'

/** What Drizzle gives to the function of `db.transaction`. */
export type DrizzleTx<Schema extends Record<string, unknown>> = PgTransaction<
  NodePgQueryResultHKT,
  Schema,
  ExtractTablesWithRelations<Schema>
>

/**
 * Drizzle on the transaction of a handler: `postgresStore({ pool, tx: drizzleTx({ schema }) })`.
 *
 * @throws OptionInvalidError for an option that is unknown, and for a database of Drizzle's or a pool
 */
export function drizzleTx<Schema extends Record<string, unknown> = Record<string, never>>(
  options: DrizzleTxOptions<Schema> = {},
): TxBinding<PostgresTx, DrizzleTx<Schema>> {
  requireDrizzleOptions(options)
  let bind: ((sql: PostgresTx) => DrizzleTx<Schema>) | undefined
  return Object.freeze({
    engine: 'postgres' as const,
    load: async () => {
      bind ??= await prepare(options)
    },
    bind: (sql: PostgresTx) => requireLoaded(bind)(sql),
  })
}

async function prepare<Schema extends Record<string, unknown>>(
  options: DrizzleTxOptions<Schema>,
): Promise<(sql: PostgresTx) => DrizzleTx<Schema>> {
  const { orm, core, driver } = await loadLibrary('drizzle-orm', async () => ({
    orm: await import('drizzle-orm'),
    core: await import('drizzle-orm/pg-core'),
    driver: await import('drizzle-orm/node-postgres'),
  }))
  const { dialectOptions, sessionOptions, relational } = resolveForDrizzle(orm, options)
  const dialect = new core.PgDialect(dialectOptions)
  return (sql) => {
    const connect = () => {
      const client = asPgClient<ConstructorParameters<typeof driver.NodePgSession>[0]>(sql)
      return new driver.NodePgSession(client, dialect, relational, sessionOptions)
    }
    const tx = new driver.NodePgTransaction(dialect, connect(), relational)
    nestTransactions(tx, connect)
    return tx as unknown as DrizzleTx<Schema>
  }
}
