/**
 * Makes a database with the effects ledger in it: a table without a unique constraint, so that an
 * effect that happened twice is seen and not prevented.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { openDriver } from '../../../src/store/sqlite/open-driver.ts'
import { toSqlValue } from '../../../src/store/sqlite/driver.ts'
import { lendDatabase } from '../postgres/lend-database.ts'
import { createDatabaseOn, dropDatabaseOn } from '../postgres/start-postgres.ts'
import type { ConnectionConfig } from '../postgres/start-postgres.ts'
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
    table: 'events' | 'queue' | 'outcomes' | 'workers' | 'message_queue' | 'message_outcomes',
    where?: string,
  ): Promise<number>
}

export type Engine = FaultDatabase['engine']

export interface MadeDatabase {
  readonly database: FaultDatabase
  drop(): Promise<void>
}

/** An empty one, on a server that may be stopped meanwhile. */
export async function createPostgres(server: ConnectionConfig): Promise<MadeDatabase> {
  const connection = await createDatabaseOn(server)
  return addLedger(connection, () => dropDatabaseOn(server, connection.database))
}

/** One with our tables, on a server that stays. */
export async function lendPostgres(server: ConnectionConfig): Promise<MadeDatabase> {
  const { config, giveBack } = await lendDatabase(server)
  return addLedger(config, giveBack)
}

/** Adds the ledger to a database that is there. The pool answers an interrupted connection with an error, not with an exit. */
export async function addLedger(
  connection: ConnectionConfig,
  giveUp: () => Promise<void>,
): Promise<MadeDatabase> {
  const pool = new pg.Pool({ ...connection, max: 3 })
  pool.on('error', () => undefined)
  // The pool listens to those that are idle, and one may end before it is.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const query = async (sql: string, params: readonly unknown[] = []) =>
    (await pool.query<Record<string, unknown>>(sql, [...params])).rows
  await query('create table effects (event_key text, note text)')
  return {
    database: withCounts(
      { engine: 'postgres', store: { engine: 'postgres', connection }, query },
      'hookonce.',
    ),
    drop: async () => {
      await pool.end()
      await giveUp()
    },
  }
}

export async function createSqlite(): Promise<MadeDatabase> {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-faults-'))
  const { database, drop } = await createSqliteIn(dir)
  const dropAll = async () => {
    await drop()
    rmSync(dir, { recursive: true, force: true })
  }
  return { database, drop: dropAll }
}

/** In a folder that is there, and stays. */
export async function createSqliteIn(dir: string): Promise<MadeDatabase> {
  const file = join(dir, 'inbox.db')
  const driver = await openDriver('libsql')
  const handle = driver.open(file)
  handle.execute('pragma busy_timeout = 5000')
  handle.execute('pragma journal_mode = wal')
  handle.execute('create table effects (event_key text, note text)')
  const query = async (sql: string, params: readonly unknown[] = []) =>
    handle.prepare(sql.replaceAll(/\$(\d+)/g, '?$1')).query(params.map(toSqlValue)).rows
  return {
    database: withCounts(
      { engine: 'sqlite', store: { engine: 'sqlite', file }, query },
      'hookonce_',
    ),
    drop: async () => handle.close(),
  }
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
