import { fromSqlite } from '../../src/own-tx/from-sqlite.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteStore, SqliteStoreOptions } from '../../src/store/sqlite/index.ts'
import type { OwnTransaction } from '../../src/testing/store/index.ts'
import { openSqlite, untilFree } from './own-connection.ts'
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
    encrypts: options.encryption !== undefined,
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
    begin: () => beginOn(file, driver),
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

async function beginOn(file: string, driver: DriverName): Promise<OwnTransaction> {
  const db = await openSqlite(file, driver)
  await untilFree(async () => db.exec('begin immediate'))
  const end = async (how: 'commit' | 'rollback') => {
    db.exec(how)
    db.close()
  }
  const tx = fromSqlite(db)
  return {
    tx,
    writeEffect: async (key) => {
      await tx.query('insert into effects (event_key) values (?)', [key])
    },
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  }
}
