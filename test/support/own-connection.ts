/**
 * A connection of the user's own to the inbox's database, beside the store, for the length of the running test.
 *
 * @module
 */

import Database from 'libsql'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { fromPg } from '../../src/own-tx/from-pg.ts'
import { fromSqlite } from '../../src/own-tx/from-sqlite.ts'
import type { SqliteConnection } from '../../src/own-tx/from-sqlite.ts'
import type { OwnTx } from '../../src/store/contract/transaction.ts'
import type { ConnectionConfig } from './postgres/start-postgres.ts'
import type { DriverName } from './sqlite-database.ts'

/** As node:sqlite says it. */
const NODE_SQLITE_BUSY = 5

export interface OwnConnection {
  readonly tx: OwnTx
  /** Runs one statement. */
  run(sql: string): Promise<unknown>
  begin(): Promise<unknown>
}

export async function connectPostgres(config: ConnectionConfig): Promise<OwnConnection> {
  const client = new pg.Client(config)
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end())
  const run = (sql: string) => client.query(sql)
  return { tx: fromPg(client), run, begin: () => run('begin') }
}

/** With the SQLite of the store that has the file open: any other is refused. */
export async function connectSqlite(file: string, driver: DriverName): Promise<OwnConnection> {
  const db = await openSqlite(file, driver)
  onTestFinished(() => db.close())
  const run = async (sql: string) => db.exec(sql)
  return { tx: fromSqlite(db), run, begin: () => untilFree(() => run('begin immediate')) }
}

/** As a user opens it, with either binding. */
export async function openSqlite(file: string, driver: DriverName) {
  if (driver === 'libsql') return new Database(file) as OpenSqlite
  // @ts-expect-error -- The types of Node 20 do not have it.
  const { DatabaseSync } = (await import('node:sqlite')) as { DatabaseSync: SqliteModule }
  return new DatabaseSync(file)
}

type SqliteModule = new (file: string) => OpenSqlite

interface OpenSqlite extends SqliteConnection {
  exec(sql: string): unknown
  close(): void
}

/** A wait in SQLite itself would stop this process, and with it the transaction that is waited for. */
export async function untilFree<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const { code, errcode } = error as { code?: string; errcode?: number }
      if (code !== 'SQLITE_BUSY' && errcode !== NODE_SQLITE_BUSY) throw error
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

/** Runs `work` in a transaction of its own, as a library would. */
export async function inTransaction<Result>(
  { begin, run, tx }: OwnConnection,
  work: (tx: OwnTx) => Promise<Result>,
): Promise<Result> {
  await begin()
  try {
    const result = await work(tx)
    await run('commit')
    return result
  } catch (error) {
    await run('rollback')
    throw error
  }
}
