/**
 * The database of a test: a SQLite file of its own, in memory where the machine has a place for that, or the user's.
 *
 * @module
 */

import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OptionInvalidError } from '../../errors.ts'
import type { Store } from '../../store/contract/store.ts'
import { sqliteStore } from '../../store/sqlite/index.ts'
import { openDriver } from '../../store/sqlite/open-driver.ts'
import { toSqlValue } from '../../store/sqlite/driver.ts'
import type { SqliteDriver, SqliteHandle } from '../../store/sqlite/driver.ts'
import { isBusy } from '../../store/sqlite/store-error.ts'

/**
 * Runs a statement on the database of a test, outside of any transaction of the inbox. The list is one that drivers take:
 * `(sql, values) => pool.query(sql, values)`.
 */
export type Execute = (sql: string, values?: unknown[]) => unknown

export interface TestDatabase<Sql, Tx> {
  /** A store for one process. */
  readonly makeStore: () => Store<Sql, Tx>
  /** @throws OptionInvalidError where the test has a store of its own and does not say how */
  readonly execute: Execute
  /** The file; `undefined` for the user's own database. */
  readonly file: string | undefined
  /** What the names of our tables begin with. */
  readonly tables: string
  readonly remove: () => void
}

/** The user's own. */
export function ownDatabase<Sql, Tx>(options: {
  readonly store: () => Store<Sql, Tx>
  readonly execute: Execute | undefined
  readonly tables: string | undefined
}): TestDatabase<Sql, Tx> {
  return {
    makeStore: options.store,
    execute: options.execute ?? missingExecute,
    file: undefined,
    tables: options.tables ?? '',
    remove: () => undefined,
  }
}

function missingExecute(): never {
  throw new OptionInvalidError('testInbox.execute', {
    message:
      'testInbox.execute: this needs to write to your database, which a store does not do. Give execute: (sql, values) => pool.query(sql, values) beside store',
  })
}

/** A file of SQLite that is removed with the test. */
export async function temporaryDatabase<Sql, Tx>(): Promise<TestDatabase<Sql, Tx>> {
  const driver = await openDriver('auto')
  const folder = mkdtempSync(join(findFolder(), 'hookonce-test-'))
  const file = join(folder, 'test.db')
  let handle = openHandle(driver, file)
  return {
    makeStore: () => sqliteStore(file) as unknown as Store<Sql, Tx>,
    execute: (sql, values = []) => {
      if (values.length === 0) return handle.execute(sql)
      try {
        return handle.prepare(sql).query(values.map(toSqlValue)).rows
      } catch (error) {
        // With libsql a statement that met another writer stays begun until it is collected. What the connection writes
        // after that would not commit, and keep every other writer out: `test/testing/mistakes.test.ts`.
        if (isBusy(error)) {
          handle.close()
          handle = openHandle(driver, file)
        }
        throw error
      }
    },
    file,
    tables: 'hookonce_',
    remove: () => {
      handle.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function openHandle(driver: SqliteDriver, file: string): SqliteHandle {
  const handle = driver.open(file)
  // The store has the file in WAL mode; what waits for a writer waits for a handler of this process.
  handle.execute('pragma journal_mode = wal; pragma busy_timeout = 0')
  return handle
}

/** On Linux a file in /dev/shm is in memory, and a COMMIT waits for no disk. */
function findFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}
