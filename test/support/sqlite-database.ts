/**
 * The one way to a SQLite database for a test: a file of its own, and a connection beside the store.
 *
 * It knows nothing of Vitest, so that scripts can use it.
 *
 * @module
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { toSqlValue } from '../../src/store/sqlite/driver.ts'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { findDataFolder } from './data-folder.ts'

export type DriverName = 'node:sqlite' | 'libsql'

export interface SqliteDatabase {
  readonly engine: 'sqlite'
  readonly file: string
  /** Runs a statement on a connection that no store knows. Placeholders are `$1` or `?`. */
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>
  /** Runs a text of several statements there. */
  execute(sql: string): Promise<void>
  /** Closes the connection and removes the file. */
  close(): Promise<void>
}

export interface SqliteDatabaseOptions {
  readonly driver?: DriverName
  /** A folder that is there, and stays; one of its own by default, removed with the file. */
  readonly folder?: string
}

export async function createSqlite({
  driver = 'libsql',
  folder,
}: SqliteDatabaseOptions = {}): Promise<SqliteDatabase> {
  const dir = folder ?? (await mkdtemp(join(findDataFolder(), 'hookonce-sqlite-')))
  const file = join(dir, 'inbox.db')
  const handle = (await openDriver(driver)).open(file)
  // A connection that has read nothing since the file has a log knows of none, and has none to bring in. libsql reads.
  const read = (sql: string): void => {
    if (sql.includes('wal_checkpoint')) handle.prepare('select count(*) from sqlite_schema').all([])
  }
  return {
    engine: 'sqlite',
    file,
    query: async (sql, params = []) => {
      read(sql)
      return handle.prepare(sql.replaceAll(/\$(\d+)/g, '?$1')).query(params.map(toSqlValue)).rows
    },
    execute: async (sql) => {
      read(sql)
      handle.execute(sql)
    },
    close: async () => {
      handle.close()
      if (folder === undefined) await rm(dir, { recursive: true, force: true })
    },
  }
}
