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
  // Counts only for a file that has nothing in it yet: what is pruned later can then be given back to the disk.
  connection.execute('pragma auto_vacuum = incremental')
  const [row] = connection.all<{ journal_mode: string }>('pragma journal_mode = wal')
  if (row?.journal_mode === 'wal') return
  throw new HookonceError(
    'STORE_UNSAFE',
    `SQLite keeps this file in journal mode ${row?.journal_mode}. Put it on a local disk, where WAL works.`,
  )
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
