/**
 * Only SQLite: a connection to PostgreSQL comes from the user's pool (`check-out.ts`).
 *
 * @module
 */

import { resolve } from 'node:path'
import { HookonceError, StoreUnavailableError } from '../../errors.ts'
import { Connection } from './connection.ts'
import type { SqliteDriver, SqliteHandle } from './driver.ts'

/** Opens a connection that never waits inside SQLite. */
export function openConnection(
  driver: SqliteDriver,
  { file, prefix }: { file: string; prefix: string },
): Connection {
  const connection = new Connection(openHandle(driver, file), prefix)
  connection.execute('pragma busy_timeout = 0')
  return connection
}

/** Without a write-ahead log readers wait for writers, and on a network file system there is none. */
export function requireWal(connection: Connection): void {
  // To set `auto_vacuum` is to wait for the writer, also where it changes nothing: a process that is started while a
  // handler of another one runs would not open the file, nor would an operator who wants to see what hangs.
  if (askMode(connection, 'pragma journal_mode') === 'wal') return
  // Counts only for a file that has nothing in it yet: what is pruned later can then be given back to the disk.
  connection.execute('pragma auto_vacuum = incremental')
  const mode = askMode(connection, 'pragma journal_mode = wal')
  if (mode === 'wal') return
  throw new HookonceError(
    'STORE_UNSAFE',
    `SQLite keeps this file in journal mode ${mode}. Put it on a local disk, where WAL works.`,
  )
}

function askMode(connection: Connection, pragma: string): string | undefined {
  return connection.all<{ journal_mode: string }>(pragma)[0]?.journal_mode
}

function openHandle(driver: SqliteDriver, file: string): SqliteHandle {
  try {
    return driver.open(resolve(file))
  } catch (error) {
    throw new StoreUnavailableError(
      `The database file ${file} cannot be opened. Does its folder exist, and may this process write there?`,
      {
        cause: error,
      },
    )
  }
}
