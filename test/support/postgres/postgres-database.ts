/**
 * The one way to a PostgreSQL database for a test: with our tables or without, a connection beside the store,
 * and nothing left open when it is closed.
 *
 * It knows nothing of Vitest, so that scripts can use it; `open-postgres.ts` closes it when the running test ends.
 *
 * @module
 */

import pg from 'pg'
import { lendDatabase } from './lend-database.ts'
import { createDatabaseOn, dropDatabaseOn } from './start-postgres.ts'
import type { ConnectionConfig } from './start-postgres.ts'

export interface PostgresDatabase {
  readonly engine: 'postgres'
  readonly config: ConnectionConfig
  /** Runs a statement on a connection that no store knows. Placeholders are `$1`. */
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>
  /** A pool on it, as another process would have. */
  newPool(): pg.Pool
  /** Ends every pool and gives the database up. */
  close(): Promise<void>
}

/** One with our tables and nothing in them, on a server that stays. */
export async function lendPostgres(server: ConnectionConfig): Promise<PostgresDatabase> {
  const { config, giveBack } = await lendDatabase(server)
  return usePostgres(config, giveBack)
}

/** One without our tables, also on a server that may be stopped meanwhile. */
export async function createPostgres(server: ConnectionConfig): Promise<PostgresDatabase> {
  const config = await createDatabaseOn(server)
  return usePostgres(config, () => dropDatabaseOn(server, config.database))
}

/** One that is there. */
export function usePostgres(
  config: ConnectionConfig,
  giveUp: () => Promise<void>,
): PostgresDatabase {
  const pools: pg.Pool[] = []
  const newPool = (max = 10): pg.Pool => {
    const pool = new pg.Pool({ ...config, max })
    pools.push(listenToErrors(pool))
    return pool
  }
  const outside = newPool(3)
  return {
    engine: 'postgres',
    config,
    query: async (sql, params = []) =>
      (await outside.query<Record<string, unknown>>(sql, [...params])).rows,
    newPool,
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end()))
      await giveUp()
    },
  }
}

/** A connection that is interrupted is an error of the test that uses it, and no reason for the process to end. */
export function listenToErrors<Pool extends pg.Pool>(pool: Pool): Pool {
  pool.on('error', () => undefined)
  // The pool listens to those that are idle, and one may end before it is.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
