/**
 * `from…` on the transactions of real libraries: what is written through them is committed and rolled back by them, and
 * their root objects are refused by name. Libraries that are not installed here are tried by what they declare.
 */

import type { Store } from '../../src/store/contract/store.ts'
import Database from 'libsql'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleProxy } from 'drizzle-orm/sqlite-proxy'
import knexLibrary from 'knex'
import type { Knex } from 'knex'
// @ts-expect-error -- It has no types of its own.
import KnexBetterSqlite from 'knex/lib/dialects/better-sqlite3/index.js'
import { CamelCasePlugin, Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { destination } from '../../src/outbox/destination.ts'
import { fromDrizzle } from '../../src/own-tx/from-drizzle.ts'
import { fromKnex } from '../../src/own-tx/from-knex.ts'
import { fromKysely } from '../../src/own-tx/from-kysely.ts'
import { fromMikroOrm } from '../../src/own-tx/from-mikro-orm.ts'
import { fromPg } from '../../src/own-tx/from-pg.ts'
import { fromPostgresJs } from '../../src/own-tx/from-postgres-js.ts'
import { fromPrisma } from '../../src/own-tx/from-prisma.ts'
import { fromSequelize } from '../../src/own-tx/from-sequelize.ts'
import { fromSqlite } from '../../src/own-tx/from-sqlite.ts'
import { fromTypeorm } from '../../src/own-tx/from-typeorm.ts'
import type { OwnTx } from '../../src/store/contract/transaction.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../support/postgres/open-postgres.ts'
import { createSqlite } from '../support/sqlite-database.ts'

/** Is given what the function makes of the transaction, twice. */
type Work<Result> = (tx: OwnTx, again: OwnTx) => Promise<Result>

/** One library on one engine. */
interface Library {
  /** Runs `work` in a transaction of the library, which rolls back what throws. */
  transact<Result>(work: Work<Result>): Promise<Result>
  /** What the function says of the library's root object, before the database is asked; left out where it cannot tell. */
  readonly says?: string
  /** What the user may pass by mistake: each a call that throws, or a tx for `once` itself. The root is the first. */
  readonly mistakes: readonly (() => OwnTx)[]
}

interface Scene {
  readonly config: pg.ClientConfig
  readonly file: string
}

const common = {
  sources: {},
  worker: false,
  relay: false,
  destinations: [destination('mail', () => undefined)],
} as const
const JOB = { source: 'jobs', key: 'job-1', payload: { amount: 1, text: 'it\'s "ä" ? $1 :x' } }
const INSERT = "insert into effects (note) values ('written')"

const ON_POSTGRES: Record<string, (scene: Scene) => Promise<Library>> = {
  pg: async ({ config }) => {
    const pool = newPool({ ...config, max: 2 })
    return {
      transact: async (work) => withClient(pool, (client) => work(fromPg(client), client)),
      says: 'a pool runs every statement on whichever connection is free',
      mistakes: [() => fromPg(pool), () => pool],
    }
  },
  Drizzle: async ({ config }) => {
    const db = drizzlePg(newPool({ ...config, max: 2 }))
    return {
      transact: (work) => db.transaction((tx) => work(fromDrizzle(tx), fromDrizzle(tx))),
      says: 'fromDrizzle was given the database',
      mistakes: [() => fromDrizzle(db as never), () => db as never],
    }
  },
  Kysely: async ({ config }) => {
    const dialect = new PostgresDialect({ pool: newPool({ ...config, max: 2 }) })
    const db = new Kysely<object>({ dialect, plugins: [new CamelCasePlugin()] })
    return {
      transact: (work) => db.transaction().execute((trx) => work(fromKysely(trx), fromKysely(trx))),
      says: 'fromKysely was given the database',
      mistakes: [() => fromKysely(db), () => db as never],
    }
  },
  Knex: async ({ config }) => {
    const knex = knexLibrary({ client: 'pg', connection: config as Knex.PgConnectionConfig })
    onTestFinished(() => knex.destroy())
    return {
      transact: (work) => knex.transaction((trx) => work(fromKnex(trx), fromKnex(trx))),
      says: 'fromKnex was given Knex itself',
      mistakes: [() => fromKnex(knex), () => knex as never],
    }
  },
  'Prisma, by shape': async ({ config }) => {
    const pool = newPool({ ...config, max: 2 })
    const ask = (on: Pick<pg.PoolClient, 'query'>) => ({
      $queryRawUnsafe: async (text: string, ...values: unknown[]) =>
        (await on.query<object>(text, values)).rows,
    })
    const client = { ...ask(pool), $connect: async () => undefined }
    return {
      transact: (work) => withClient(pool, (own) => twice(work, fromPrisma, ask(own))),
      says: 'fromPrisma was given the client',
      mistakes: [() => fromPrisma(client), () => client as never],
    }
  },
  'TypeORM, by shape': async ({ config }) => {
    const pool = newPool({ ...config, max: 2 })
    const manager = (on: Pick<pg.PoolClient, 'query'>, isTransactionActive: boolean) => ({
      queryRunner: { isTransactionActive },
      query: async (text: string, values?: unknown[]) => {
        const { rows, rowCount, command } = await on.query<object>(text, values)
        return command === 'UPDATE' || command === 'DELETE' ? [rows, rowCount] : rows
      },
    })
    return {
      transact: (work) => withClient(pool, (own) => twice(work, fromTypeorm, manager(own, true))),
      says: 'fromTypeorm was given what has none open',
      mistakes: [() => fromTypeorm(manager(pool, false)), () => manager(pool, false) as never],
    }
  },
  'MikroORM, by shape': async ({ config }) => {
    const pool = newPool({ ...config, max: 2 })
    const em = (context: pg.PoolClient | undefined) => ({
      isInTransaction: () => context !== undefined,
      getTransactionContext: () => context,
      getConnection: () => ({
        execute: async (text: string, values: unknown[], _how: 'all', on: pg.PoolClient) => {
          let nth = 0
          const numbered = text.replaceAll('?', () => `$${(nth += 1)}`)
          return (await on.query<object>(numbered, values)).rows
        },
      }),
    })
    return {
      transact: (work) =>
        withClient(pool, (own) => work(fromMikroOrm(em(own)), fromMikroOrm(em(own)))),
      says: 'fromMikroOrm was given an entity manager that has none open',
      mistakes: [() => fromMikroOrm(em(undefined)), () => em(undefined) as never],
    }
  },
  'Sequelize, by shape': async ({ config }) => {
    const pool = newPool({ ...config, max: 2 })
    const sequelize = {
      query: async (text: string, options: Record<string, unknown>) => {
        const on = options['transaction'] as { client: pg.PoolClient }
        const { rows } = await on.client.query<object>(text, options['bind'] as unknown[])
        return options['type'] === 'SELECT' ? rows : [rows, {}]
      },
    }
    return {
      transact: (work) =>
        withClient(pool, (client) =>
          twice(work, (transaction) => fromSequelize(sequelize, transaction), { client }),
        ),
      says: 'fromSequelize needs one',
      mistakes: [() => fromSequelize(sequelize, undefined as never)],
    }
  },
  'postgres.js, by shape': async ({ config }) => {
    const pool = newPool({ ...config, max: 2 })
    const sql = (on: Pick<pg.PoolClient, 'query'>) => ({
      unsafe: async (text: string, values: unknown[] = []) =>
        (await on.query<object>(text, values)).rows,
    })
    return {
      transact: (work) =>
        withClient(pool, (own) =>
          twice(work, fromPostgresJs, { ...sql(own), savepoint: () => undefined } as never),
        ),
      says: 'fromPostgresJs was given the pool',
      mistakes: [() => fromPostgresJs(sql(pool)), () => sql(pool) as never],
    }
  },
}

const ON_SQLITE: Record<string, (scene: Scene) => Promise<Library>> = {
  libsql: async ({ file }) => {
    const db = openLibsql(file)
    return {
      transact: (work) =>
        between(
          (text) => db.exec(text),
          () => work(fromSqlite(db), fromSqlite(db)),
        ),
      mistakes: [() => fromSqlite(db), () => db as never],
    }
  },
  'node:sqlite, by shape': async ({ file }) => {
    const inner = openLibsql(file)
    // It takes its values one by one.
    const db = {
      prepare: (text: string) => {
        const statement = inner.prepare(text)
        return {
          all: (...values: unknown[]) => statement.all(values),
          run: (...values: unknown[]) => statement.run(values),
        }
      },
    }
    return {
      transact: (work) =>
        between(
          (text) => inner.exec(text),
          () => work(fromSqlite(db), fromSqlite(db)),
        ),
      mistakes: [() => fromSqlite(db)],
    }
  },
  Drizzle: async ({ file }) => {
    const own = openLibsql(file)
    const db = drizzleProxy(async (text, params, method) => {
      const statement = own.prepare(text)
      if (method === 'run') return { rows: [void statement.run(params)] }
      return { rows: statement.raw().all(params) }
    })
    return {
      transact: (work) =>
        db.transaction((tx) => work(fromDrizzle(tx), fromDrizzle(tx)), { behavior: 'immediate' }),
      mistakes: [() => fromDrizzle(db), () => db as never],
    }
  },
  Knex: async ({ file }) => {
    const knex = knexLibrary({
      client: KnexOnLibsql as never,
      connection: { filename: file },
      useNullAsDefault: true,
    })
    onTestFinished(() => knex.destroy())
    return {
      transact: (work) => knex.transaction((trx) => work(fromKnex(trx), fromKnex(trx))),
      says: 'fromKnex was given Knex itself',
      mistakes: [() => fromKnex(knex), () => knex as never],
    }
  },
  Kysely: async ({ file }) => {
    const db = new Kysely<object>({
      dialect: new SqliteDialect({ database: openLibsql(file) }),
      plugins: [new CamelCasePlugin()],
    })
    return {
      transact: (work) => db.transaction().execute((trx) => work(fromKysely(trx), fromKysely(trx))),
      says: 'fromKysely was given the database',
      mistakes: [() => fromKysely(db), () => db as never],
    }
  },
}

/** Knex's own client for better-sqlite3, on a binding that has the same methods. */
class KnexOnLibsql extends (KnexBetterSqlite as new (config: object) => object) {
  _driver(): unknown {
    return Database
  }
}

describe.skipIf(hasNoPostgres).each(Object.entries(ON_POSTGRES))(
  'a transaction of %s on PostgreSQL',
  (_name, open) => {
    test('carries a claim, its effect and a message, is rolled back with them, and its root is refused', async () => {
      const config = await createPostgresDatabase()
      const pool = newPool({ ...config, max: 4 })
      const query = async (text: string) => (await pool.query<Record<string, unknown>>(text)).rows
      await tryLibrary(await open({ config, file: '' }), postgresStore({ pool }), query)
    })
  },
)

describe.each(Object.entries(ON_SQLITE))('a transaction of %s on SQLite', (_name, open) => {
  test('carries a claim, its effect and a message, is rolled back with them, and its root is refused', async () => {
    const { file, query, close } = await createSqlite()
    onTestFinished(close)
    const library = await open({ config: {}, file })
    await tryLibrary(library, sqliteStore(file, { driver: 'libsql' }), query)
  })
})

function twice<Given, Result>(
  work: Work<Result>,
  from: (given: Given) => OwnTx,
  given: Given,
): Promise<Result> {
  return work(from(given), from(given))
}

async function tryLibrary(
  { transact, mistakes, says }: Library,
  store: Store<unknown>,
  query: (text: string) => Promise<Record<string, unknown>[]>,
): Promise<void> {
  const inbox = createInbox({ ...common, store: store })
  onTestFinished(() => inbox.stop())
  await inbox.start()
  await query('create table effects (note text)')
  const call = (tx: OwnTx) =>
    inbox.once(tx, JOB, async ({ send }) => {
      await tx.query(INSERT)
      await send('mail', { of: 'the work' })
      return { n: 1 }
    })
  const count = async () => [
    Number((await query('select count(*) as n from effects'))[0]?.['n']),
    (await inbox.admin.listMessages({ state: 'ready' })).messages.length,
  ]

  const undone = transact(async (tx) => {
    await call(tx)
    await inbox.outbox.send(tx, 'mail', 'undone')
    throw new Error('no')
  })
  await expect(undone).rejects.toThrow('no')
  expect(await count()).toEqual([0, 0])

  const first = await transact(async (tx) => {
    await inbox.outbox.send(tx, 'mail', 'kept')
    return call(tx)
  })
  expect(first).toMatchObject({ status: 'first', result: { n: 1 } })
  expect(await count()).toEqual([1, 2])
  expect(await transact(call)).toMatchObject({ status: 'duplicate', result: { n: 1 } })
  expect(
    await transact((tx) => inbox.once(tx, { ...JOB, payload: 'other' }, () => 1)),
  ).toMatchObject({ status: 'conflict' })
  expect(await count()).toEqual([1, 2])
  const [event] = await inbox.admin.listEventsByKey('jobs', 'job-1')
  expect(JSON.parse(Buffer.from(event?.body ?? []).toString())).toEqual(JOB.payload)

  const both = await transact((tx, again) =>
    Promise.allSettled(
      [tx, again].map((each, nth) => inbox.once(each, { ...JOB, key: `of two ${nth}` }, () => 1)),
    ),
  )
  expect(both).toMatchObject([
    { value: { status: 'first' } },
    { reason: { code: 'TRANSACTION_CONTROL' } },
  ])

  if (says !== undefined) expect(mistakes[0]).toThrow(says)
  for (const mistake of mistakes) {
    const made = async () => inbox.once(mistake(), { ...JOB, key: 'another' }, () => 1)
    await expect(made()).rejects.toMatchObject({ code: 'TRANSACTION_EXPECTED' })
    const sent = async () => inbox.outbox.send(mistake(), 'mail', 'lost')
    await expect(sent()).rejects.toMatchObject({ code: 'TRANSACTION_EXPECTED' })
  }
  expect(await count()).toEqual([1, 2])
}

async function withClient<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  try {
    return await between(
      (text) => client.query(text),
      () => work(client),
      'begin',
    )
  } finally {
    client.release()
  }
}

async function between<Result>(
  run: (text: string) => unknown,
  work: () => Promise<Result>,
  begin = 'begin immediate',
): Promise<Result> {
  await run(begin)
  try {
    const result = await work()
    await run('commit')
    return result
  } catch (error) {
    await run('rollback')
    throw error
  }
}

function openLibsql(file: string): InstanceType<typeof Database> {
  const db = new Database(file)
  onTestFinished(() => void db.close())
  return db
}
