/**
 * `hookonce/drizzle/sqlite`: a handler's `tx` is that of Drizzle's `db.transaction`, on SQLite.
 *
 * Drizzle speaks through its proxy driver, which asks a function for every statement. An entry of its own, since that
 * for PostgreSQL needs `pg` and its types.
 *
 * @module
 */

import type { ExtractTablesWithRelations } from 'drizzle-orm'
import type { SQLiteTransaction } from 'drizzle-orm/sqlite-core'
import type { AsyncRemoteCallback, SqliteRemoteResult } from 'drizzle-orm/sqlite-proxy'
import type { TxBinding } from '../store/contract/tx-binding.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { nestTransactions, requireDrizzleOptions, resolveForDrizzle } from './drizzle-options.ts'
import type { DrizzleTxOptions } from './drizzle-options.ts'
import { loadLibrary, requireLoaded } from './load-library.ts'

export type { DrizzleTxOptions } from './drizzle-options.ts'

/** What Drizzle's proxy driver gives to the function of `db.transaction`. */
export type DrizzleTx<Schema extends Record<string, unknown>> = SQLiteTransaction<
  'async',
  SqliteRemoteResult,
  Schema,
  ExtractTablesWithRelations<Schema>
>

/**
 * Drizzle on the transaction of a handler: `sqliteStore(file, { tx: drizzleTx({ schema }) })`.
 *
 * @throws OptionInvalidError for an option that is unknown, and for a database of Drizzle's or a pool
 */
export function drizzleTx<Schema extends Record<string, unknown> = Record<string, never>>(
  options: DrizzleTxOptions<Schema> = {},
): TxBinding<SqliteTx, DrizzleTx<Schema>> {
  requireDrizzleOptions(options)
  let bind: ((sql: SqliteTx) => DrizzleTx<Schema>) | undefined
  return Object.freeze({
    engine: 'sqlite' as const,
    load: async () => {
      bind ??= await prepare(options)
    },
    bind: (sql: SqliteTx) => requireLoaded(bind)(sql),
  })
}

async function prepare<Schema extends Record<string, unknown>>(
  options: DrizzleTxOptions<Schema>,
): Promise<(sql: SqliteTx) => DrizzleTx<Schema>> {
  const { orm, core, driver } = await loadLibrary('drizzle-orm', async () => ({
    orm: await import('drizzle-orm'),
    core: await import('drizzle-orm/sqlite-core'),
    driver: await import('drizzle-orm/sqlite-proxy'),
  }))
  const { dialectOptions, sessionOptions, relational } = resolveForDrizzle(orm, options)
  const dialect = new core.SQLiteAsyncDialect(dialectOptions)
  return (sql) => {
    const connect = () =>
      new driver.SQLiteRemoteSession(
        answerThrough(sql),
        dialect,
        relational,
        undefined,
        sessionOptions,
      )
    const tx = new driver.SQLiteProxyTransaction('async', dialect, connect(), relational)
    nestTransactions(tx, connect)
    return tx as unknown as DrizzleTx<Schema>
  }
}

/** Drizzle reads rows by position: of two columns with one name an object would have one. */
function answerThrough(sql: SqliteTx): AsyncRemoteCallback {
  const nested = sql.asNested()
  return async (text, params, method) => {
    const { rows } = await nested.query<unknown[]>(text, params, { rowMode: 'array' })
    // Where one row is asked for, it is no list of rows, and none is `undefined`.
    return { rows: method === 'get' ? (rows[0] as unknown[]) : rows }
  }
}
