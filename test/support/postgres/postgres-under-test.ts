import pg from 'pg'
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/store/postgres/migrations.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import type { DatabaseUnderTest, QueryTx, StoreUnderTest } from '../store-under-test.ts'
import { lendDatabase } from './lend-database.ts'
import { createDatabaseOn, dropDatabaseOn } from './start-postgres.ts'
import type { ConnectionConfig } from './start-postgres.ts'

/** The PostgreSQL store on the server that `admin` gives, asked for when the first test runs. */
export function postgresUnderTest(name: string, admin: () => ConnectionConfig): StoreUnderTest {
  return {
    name,
    capabilities: {
      parallelGroups: true,
      recordsBesideGroup: true,
      failedStatementAborts: true,
      opensLate: false,
    },
    create: async () => {
      const { config, giveBack } = await lendDatabase(admin())
      return useDatabase(config, giveBack)
    },
    createEmpty: async () => {
      const config = await createDatabaseOn(admin())
      return useDatabase(config, () => dropDatabaseOn(admin(), config.database))
    },
  }
}

function useDatabase(config: ConnectionConfig, giveUp: () => Promise<void>): DatabaseUnderTest {
  const stores: Store<QueryTx>[] = []
  const pools: pg.Pool[] = []
  const newPool = (): pg.Pool => {
    const pool = new pg.Pool({ ...config, max: 10 })
    pool.on('error', () => undefined)
    pools.push(pool)
    return pool
  }
  const outside = newPool()

  return {
    newStore: ({ migrate = 'auto' } = {}) => {
      const store = postgresStore({ pool: newPool(), migrate })
      stores.push(store)
      return store
    },
    query: async (sql, params = []) => {
      const { rows } = await outside.query<Record<string, unknown>>(sql, [...params])
      return rows
    },
    migrateBeyond: async () => {
      await outside.query('insert into hookonce.migrations (version) values ($1)', [
        SCHEMA_VERSION + 1,
      ])
    },
    migrateBack: async () => {
      await outside.query('delete from hookonce.migrations where version = $1', [
        MIGRATIONS.at(-1)?.version,
      ])
    },
    close: async () => {
      await Promise.all(stores.map((store) => store.close()))
      await Promise.all(pools.map((pool) => pool.end()))
      await giveUp()
    },
  }
}
