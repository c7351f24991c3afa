import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/store/postgres/migrations.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import type { DatabaseUnderTest, QueryTx, StoreUnderTest } from '../store-under-test.ts'
import { createPostgres, lendPostgres } from './postgres-database.ts'
import type { PostgresDatabase } from './postgres-database.ts'
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
    create: async () => useDatabase(await lendPostgres(admin())),
    createEmpty: async () => useDatabase(await createPostgres(admin())),
  }
}

function useDatabase({ query, newPool, close }: PostgresDatabase): DatabaseUnderTest {
  const stores: Store<QueryTx>[] = []

  return {
    newStore: ({ migrate = 'auto' } = {}) => {
      const store = postgresStore({ pool: newPool(), migrate })
      stores.push(store)
      return store
    },
    query,
    migrateBeyond: async () => {
      await query('insert into hookonce.migrations (version) values ($1)', [SCHEMA_VERSION + 1])
    },
    migrateBack: async () => {
      await query('delete from hookonce.migrations where version = $1', [
        MIGRATIONS.at(-1)?.version,
      ])
    },
    close: async () => {
      await Promise.all(stores.map((store) => store.close()))
      await close()
    },
  }
}
