import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toSqlValue } from '../../src/store/sqlite/driver.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteStore, SqliteStoreOptions } from '../../src/store/sqlite/index.ts'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import type { DatabaseUnderTest, StoreUnderTest } from './store-under-test.ts'

type DriverName = 'node:sqlite' | 'libsql'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
export const hasNodeSqlite = major > 22 || (major === 22 && minor >= 13)
export const DEFAULT_DRIVER: DriverName = hasNodeSqlite ? 'node:sqlite' : 'libsql'

export interface SqliteDatabaseUnderTest extends DatabaseUnderTest {
  readonly file: string
  newStore(options?: SqliteStoreOptions): SqliteStore
  /** Runs a text of several statements on a connection that no store knows. */
  execute(sql: string): Promise<void>
}

/** SQLite on a real file, in a folder of its own for every test. `options` are those of every store made. */
export function sqliteUnderTest(
  driver: DriverName,
  options: SqliteStoreOptions = {},
): StoreUnderTest<SqliteDatabaseUnderTest> {
  return {
    name: `sqlite with ${driver}`,
    capabilities: {
      parallelGroups: false,
      recordsBesideGroup: false,
      failedStatementAborts: false,
      opensLate: true,
    },
    // A store that opens it makes the tables, in 20 ms of processor time: nothing to save there.
    create: () => createFile(driver, options),
    createEmpty: () => createFile(driver, options),
  }
}

async function createFile(
  driver: DriverName,
  always: SqliteStoreOptions,
): Promise<SqliteDatabaseUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'hookonce-sqlite-'))
  const file = join(folder, 'hookonce.db')
  const foreign = (await openDriver(driver)).open(file)
  const stores: SqliteStore[] = []

  return {
    file,
    newStore: (options = {}) => {
      const store = sqliteStore(file, { ...always, ...options, driver })
      stores.push(store)
      return store
    },
    query: async (sql, params = []) =>
      foreign.prepare(sql.replaceAll('$', '?')).query(params.map(toSqlValue)).rows,
    execute: async (sql) => foreign.execute(sql),
    migrateBeyond: async () => {
      foreign.execute(`insert into hookonce_migrations values (1000, 0)`)
    },
    migrateBack: async () => {
      foreign.execute(
        'delete from hookonce_migrations where version = (select max(version) from hookonce_migrations)',
      )
    },
    close: async () => {
      for (const store of stores) await store.close()
      foreign.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
