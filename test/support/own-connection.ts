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
import type { OwnTx } from '../../src/store/contract/transaction.ts'
import type { ConnectionConfig } from './postgres/start-postgres.ts'

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

export async function connectSqlite(file: string): Promise<OwnConnection> {
  const db = new Database(file)
  onTestFinished(() => void db.close())
  const run = async (sql: string) => db.exec(sql)
  return { tx: fromSqlite(db), run, begin: () => untilFree(() => run('begin immediate')) }
}

/** A wait in SQLite itself would stop this process, and with it the transaction that is waited for. */
export async function untilFree<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
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
