/**
 * A database with the effects ledger in it: a table without a unique constraint, so that an
 * effect that happened twice is seen and not prevented.
 *
 * @module
 */

import type { PostgresDatabase } from '../postgres/postgres-database.ts'
import type { SqliteDatabase } from '../sqlite-database.ts'
import type { StoreConfig } from './subject-messages.ts'

export interface FaultDatabase {
  readonly engine: 'postgres' | 'sqlite'
  readonly store: StoreConfig
  /** On a connection that no store knows. Placeholders are `$1`. */
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>
  countEffects(key?: string): Promise<number>
  /** The keys whose effect did not happen exactly once, with how often it did. */
  listWrongEffects(keys: readonly string[]): Promise<readonly string[]>
  /** How many rows of our own tables match. */
  count(
    table:
      'events' | 'queue' | 'outcomes' | 'workers' | 'message_queue' | 'message_outcomes' | 'meta',
    where?: string,
  ): Promise<number>
}

export type Engine = FaultDatabase['engine']

export interface MadeDatabase {
  readonly database: FaultDatabase
  drop(): Promise<void>
}

/** Adds the ledger to a database. */
export async function addLedger(made: PostgresDatabase | SqliteDatabase): Promise<MadeDatabase> {
  const { engine, query } = made
  if (engine === 'sqlite')
    await made.execute('pragma busy_timeout = 5000; pragma journal_mode = wal')
  await query('create table effects (event_key text, note text)')
  const database =
    engine === 'postgres'
      ? withCounts({ engine, store: { engine, connection: made.config }, query }, 'hookonce.')
      : withCounts({ engine, store: { engine, file: made.file }, query }, 'hookonce_')
  return { database, drop: () => made.close() }
}

function withCounts(
  database: Pick<FaultDatabase, 'engine' | 'store' | 'query'>,
  prefix: string,
): FaultDatabase {
  const count = async (sql: string, params: readonly unknown[] = []) =>
    Number((await database.query(sql, params))[0]?.['found'])
  return {
    ...database,
    countEffects: (key) =>
      key === undefined
        ? count('select count(*) as found from effects')
        : count('select count(*) as found from effects where event_key = $1', [key]),
    listWrongEffects: async (keys) => {
      const rows = await database.query(
        'select event_key, count(*) as found from effects group by event_key',
      )
      const found = new Map(rows.map((row) => [String(row['event_key']), Number(row['found'])]))
      return keys
        .filter((key) => found.get(key) !== 1)
        .map((key) => `${key}: ${found.get(key) ?? 0}`)
    },
    count: (table, where = 'true') =>
      count(`select count(*) as found from ${prefix}${table} where ${where}`),
  }
}
