import type pg from 'pg'
import { fromPg } from '../../../src/own-tx/from-pg.ts'
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/store/postgres/migrations.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import type { OwnTransaction } from '../../../src/testing/store/index.ts'
import type {
  DatabaseUnderTest,
  QueryTx,
  StoreOptionsUnderTest,
  StoreUnderTest,
} from '../store-under-test.ts'
import { createPostgres, lendPostgres } from './postgres-database.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { ConnectionConfig } from './start-postgres.ts'

/**
 * The PostgreSQL store on the server that `admin` gives, asked for when the first test runs. `always` are options of
 * every store made.
 */
export function postgresUnderTest(
  name: string,
  admin: () => ConnectionConfig,
  always: StoreOptionsUnderTest = {},
): StoreUnderTest {
  return {
    name,
    encrypts: always.encryption !== undefined,
    capabilities: {
      parallelGroups: true,
      failedStatementAborts: true,
      opensLate: false,
    },
    create: async () => useDatabase(await lendPostgres(admin()), always),
    createEmpty: async () => useDatabase(await createPostgres(admin()), always),
  }
}

function useDatabase(
  { query, newPool, close }: PostgresDatabase,
  always: StoreOptionsUnderTest,
): DatabaseUnderTest {
  const stores: Store<QueryTx>[] = []
  const own = newPool()

  return {
    newStore: (options = {}) => {
      const store = postgresStore({ pool: newPool(), ...always, ...options })
      stores.push(store)
      return store
    },
    query,
    begin: () => beginOn(own),
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

async function beginOn(pool: pg.Pool): Promise<OwnTransaction> {
  const client = await pool.connect()
  await client.query('begin')
  const end = async (how: 'commit' | 'rollback') => {
    await client.query(how)
    client.release()
  }
  return {
    tx: fromPg(client),
    writeEffect: async (key) => {
      await client.query('insert into effects (event_key) values ($1)', [key])
    },
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  }
}
