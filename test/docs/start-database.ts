/**
 * A database for a block of the documentation: what a process of the reader's needs to reach it, and how a test looks
 * into it.
 *
 * @module
 */

import { onTestFinished } from 'vitest'
import { listenOnTcp } from '../support/postgres/listen-on-tcp.ts'
import { createPostgresDatabase, newPool } from '../support/postgres/open-postgres.ts'

export interface PageDatabase {
  readonly url: string
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
}

/** On PostgreSQL, with our tables and these, for the length of the running test. */
export async function startDatabase(tables: readonly string[] = []): Promise<PageDatabase> {
  const config = await createPostgresDatabase()
  const { url, close } = await listenOnTcp(config)
  onTestFinished(close)
  const pool = newPool({ ...config, max: 3 })
  const query: PageDatabase['query'] = async (sql, values = []) =>
    (await pool.query(sql, [...values])).rows as Record<string, unknown>[]
  for (const table of tables) await query(table)
  return { url, query }
}
