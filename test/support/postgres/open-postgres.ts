import { inject, onTestFinished } from 'vitest'
import pg from 'pg'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { createPostgres, lendPostgres, listenToErrors } from './postgres-database.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { ConnectionConfig } from './start-postgres.ts'

/** Whether this run has no server to test on; the setup has said so. */
export const hasNoPostgres = inject('postgres') === null

export interface OpenedPostgres {
  readonly config: ConnectionConfig
  readonly pool: RecordingPool
  readonly store: PostgresStore
  /** Runs a statement on a connection that no store knows. */
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>
}

/** A pool that remembers the clients it gave out, for tests that go behind the store's back. */
export class RecordingPool extends pg.Pool {
  readonly given: pg.PoolClient[] = []

  constructor(config: pg.PoolConfig) {
    super(config)
    this.on('acquire', (client) => this.given.push(client))
  }

  get lastGiven(): pg.PoolClient {
    const client = this.given.at(-1)
    if (client === undefined) throw new Error('The pool has given out no client')
    return client
  }
}

/** A database with nothing in it and an opened store on it, for the length of the running test. */
export async function openPostgres(
  admin: ConnectionConfig | null = inject('postgres'),
): Promise<OpenedPostgres> {
  const { config, query } = await forTheTest(lendPostgres(requireServer(admin)))
  // A store that is closed listens no longer.
  const pool = listenToErrors(new RecordingPool({ ...config, max: 10 }))
  const store = postgresStore({ pool })
  onTestFinished(async () => {
    await store.close()
    await pool.end()
  })
  await store.open()
  return { config, pool, store, query }
}

/** A database with our tables and nothing in them, for the length of the running test. */
export async function createPostgresDatabase(
  admin: ConnectionConfig | null = inject('postgres'),
): Promise<ConnectionConfig> {
  return (await forTheTest(lendPostgres(requireServer(admin)))).config
}

/** One without our tables, dropped when the running test ends. */
export async function createEmptyPostgresDatabase(
  admin: ConnectionConfig | null = inject('postgres'),
): Promise<ConnectionConfig> {
  return (await forTheTest(createPostgres(requireServer(admin)))).config
}

async function forTheTest(made: Promise<PostgresDatabase>): Promise<PostgresDatabase> {
  const database = await made
  onTestFinished(() => database.close())
  return database
}

function requireServer(admin: ConnectionConfig | null): ConnectionConfig {
  if (admin === null) throw new Error('This run has no PostgreSQL')
  return admin
}

/** A role that may connect to an opened database and nothing else, dropped when the running test ends. */
export async function createRole({ config, query }: OpenedPostgres): Promise<ConnectionConfig> {
  const user = `role_of_${config.database}`
  // A server that asks us for a password asks every role for one.
  const { password } = config
  const clause = password === undefined ? '' : `password ${pg.escapeLiteral(password)}`
  await query(`create role ${user} login ${clause}`)
  onTestFinished(async () => {
    await query(`drop owned by ${user}`)
    await query(`drop role ${user}`)
  })
  return { ...config, user }
}

/** A pool that is ended when the running test ends. */
export function newPool(config: pg.PoolConfig): pg.Pool {
  const pool = listenToErrors(new pg.Pool(config))
  onTestFinished(() => pool.end())
  return pool
}

/** Another store on a database, opened, with a pool of its own; both end with the running test. */
export async function openStoreOn(config: pg.PoolConfig): Promise<PostgresStore> {
  const store = postgresStore({ pool: newPool(config) })
  // What is registered later runs first, so that the pool is whole again when it is ended.
  onTestFinished(() => store.close())
  await store.open()
  return store
}
