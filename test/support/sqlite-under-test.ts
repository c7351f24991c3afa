import Database from 'libsql'
import { fromSqlite } from '../../src/own-tx/from-sqlite.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteStore, SqliteStoreOptions } from '../../src/store/sqlite/index.ts'
import type { OwnTransaction } from '../../src/testing/store/index.ts'
import { untilFree } from './own-connection.ts'
import { createSqlite } from './sqlite-database.ts'
import type { DriverName } from './sqlite-database.ts'
import type { DatabaseUnderTest, StoreUnderTest } from './store-under-test.ts'

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
  const { file, query, execute, close } = await createSqlite({ driver })
  const stores: SqliteStore[] = []

  return {
    file,
    newStore: (options = {}) => {
      const store = sqliteStore(file, { ...always, ...options, driver })
      stores.push(store)
      return store
    },
    query,
    begin: () => beginOn(file),
    execute,
    migrateBeyond: () => execute(`insert into hookonce_migrations values (1000, 0)`),
    migrateBack: () =>
      execute(
        'delete from hookonce_migrations where version = (select max(version) from hookonce_migrations)',
      ),
    close: async () => {
      for (const store of stores) await store.close()
      await close()
    },
  }
}

async function beginOn(file: string): Promise<OwnTransaction> {
  const db = new Database(file)
  await untilFree(async () => db.exec('begin immediate'))
  const end = async (how: 'commit' | 'rollback') => {
    db.exec(how)
    db.close()
  }
  return {
    tx: fromSqlite(db),
    writeEffect: async (key) => {
      db.prepare('insert into effects (event_key) values (?)').run([key])
    },
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  }
}
