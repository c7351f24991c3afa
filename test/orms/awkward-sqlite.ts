/**
 * The libraries of `awkward-libraries.ts` on SQLite: by the same code on a connection of their own, which is of libsql
 * as the store's is, and on that of a handler.
 *
 * @module
 */

import { defineEntity, MikroORM, p } from '@mikro-orm/libsql'
import type { EntityManager as MikroManager } from '@mikro-orm/libsql'
import { PrismaLibSql } from '@prisma/adapter-libsql'
import * as column from 'drizzle-orm/sqlite-core'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import type { SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy'
import knex from 'knex'
import type { Knex } from 'knex'
// @ts-expect-error -- It has no types of its own.
import KnexBetterSqlite from 'knex/lib/dialects/better-sqlite3/index.js'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { DataTypes, Sequelize } from 'sequelize'
import type { Transaction } from 'sequelize'
import { DataSource, EntitySchema } from 'typeorm'
import type { EntityManager } from 'typeorm'
import { onTestFinished } from 'vitest'
import { drizzleTx } from '../../src/bindings/drizzle-sqlite.ts'
import { knexTx } from '../../src/bindings/knex.ts'
import { kyselyTx } from '../../src/bindings/kysely.ts'
import { mikroOrmTx } from '../../src/bindings/mikro-orm.ts'
import { prismaTx } from '../../src/bindings/prisma.ts'
import { sequelizeTx } from '../../src/bindings/sequelize.ts'
import { typeormTx } from '../../src/bindings/typeorm.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { ROW } from './awkward-libraries.ts'
import { PrismaClient } from './generated/prisma-sqlite/client.ts'
import type { Prisma } from './generated/prisma-sqlite/client.ts'
import { ListedLibsql } from './listed-libsql.ts'
import { sqlite3OnLibsql } from './sqlite3-on-libsql.ts'

/** As the libraries declare such columns themselves; an amount is a text, but for Prisma, which makes a double of it. */
export const CREATE_AWKWARD = `create table awkward (
  id integer primary key, big bigint, moment datetime, local datetime, day date, amount text, data json, bytes blob,
  "nothing" datetime
)`

const { tags: _lists, ...SQLITE_ROW } = ROW

export interface SqliteLibrary<Db> {
  readonly name: string
  open(file: string): Promise<{
    readonly binding: TxBinding<SqliteTx, Db>
    own(work: (db: Db) => Promise<unknown>): PromiseLike<unknown>
  }>
  /** With this whole number, which connections of their own round or refuse where it is past 2^53. */
  write(db: Db, big: string): Promise<unknown>
  /** The one row. */
  read(db: Db): Promise<Readonly<Record<string, unknown>>>
}

function openLibsql(file: string): InstanceType<typeof Database> {
  const db = new Database(file)
  onTestFinished(() => void db.close())
  return db
}

/** SQLite has no times: code that writes plain values says how it keeps them. */
const AS_TEXT = {
  ...SQLITE_ROW,
  moment: ROW.moment.toISOString(),
  local: ROW.local.toISOString(),
  data: JSON.stringify(ROW.data),
}

const awkward = column.sqliteTable('awkward', {
  id: column.integer().primaryKey(),
  big: column.text(),
  moment: column.integer({ mode: 'timestamp_ms' }),
  local: column.integer({ mode: 'timestamp_ms' }),
  day: column.text(),
  amount: column.text(),
  data: column.text({ mode: 'json' }),
  bytes: column.blob({ mode: 'buffer' }),
  nothing: column.integer({ mode: 'timestamp_ms' }),
})

const ofDrizzle: SqliteLibrary<SqliteRemoteDatabase> = {
  name: 'Drizzle',
  open: async (file) => {
    const own = openLibsql(file)
    const db = drizzle(async (text, params, method) => {
      const statement = own.prepare(text)
      if (!statement.reader) return { rows: [statement.run(params)] }
      const rows = statement.raw().all(params) as unknown[][]
      return { rows: method === 'get' ? (rows[0] as unknown[]) : rows }
    })
    const binding = drizzleTx() as unknown as TxBinding<SqliteTx, SqliteRemoteDatabase>
    return { binding, own: (work) => db.transaction((tx) => work(tx as never)) }
  },
  write: async (db, big) => db.insert(awkward).values({ ...SQLITE_ROW, big }),
  read: async (db) => (await db.select().from(awkward))[0]!,
}

interface Tables {
  awkward: Record<string, unknown>
}

const ofKysely: SqliteLibrary<Kysely<Tables>> = {
  name: 'Kysely',
  open: async (file) => {
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: openLibsql(file) }) })
    return { binding: kyselyTx<Tables>(), own: (work) => db.transaction().execute(work) }
  },
  write: async (db, big) =>
    db
      .insertInto('awkward')
      .values({ ...AS_TEXT, big })
      .execute(),
  read: async (db) => db.selectFrom('awkward').selectAll().executeTakeFirstOrThrow(),
}

/** Knex's own client for better-sqlite3, on a binding that has the same methods. */
class KnexOnLibsql extends (KnexBetterSqlite as new (config: object) => object) {
  _driver(): unknown {
    return Database
  }
}

const ofKnex: SqliteLibrary<Knex> = {
  name: 'Knex',
  open: async (filename) => {
    const client = KnexOnLibsql as unknown as typeof Knex.Client
    const db = knex({ client, connection: { filename }, useNullAsDefault: true })
    onTestFinished(() => db.destroy())
    const binding = knexTx({ useNullAsDefault: true }) as unknown as TxBinding<SqliteTx, Knex>
    return { binding, own: (work) => db.transaction((trx) => work(trx)) }
  },
  write: async (db, big) => db('awkward').insert({ ...SQLITE_ROW, big, data: AS_TEXT.data }),
  read: async (db) => (await db('awkward').select())[0] as Record<string, unknown>,
}

const ofPrisma: SqliteLibrary<Prisma.TransactionClient> = {
  name: 'Prisma',
  open: async (file) => {
    const prisma = new PrismaClient({ adapter: new PrismaLibSql({ url: `file:${file}` }) })
    onTestFinished(() => prisma.$disconnect())
    return { binding: prismaTx(PrismaClient), own: (work) => prisma.$transaction(work) }
  },
  write: async (db, big) =>
    db.awkward.create({ data: { ...SQLITE_ROW, big: BigInt(big), day: new Date(ROW.day) } }),
  read: async (db) => {
    const row = await db.awkward.findFirstOrThrow()
    return { ...row, amount: row.amount.toFixed() }
  },
}

const AwkwardEntity = new EntitySchema<object>({
  name: 'awkward',
  columns: {
    id: { type: 'integer', primary: true },
    big: { type: 'bigint' },
    moment: { type: 'datetime' },
    local: { type: 'datetime' },
    day: { type: 'date' },
    amount: { type: 'text' },
    data: { type: 'simple-json' },
    bytes: { type: 'blob' },
    nothing: { type: 'datetime', nullable: true },
  } as never,
})

const ofTypeorm: SqliteLibrary<EntityManager> = {
  name: 'TypeORM',
  open: async (database) => {
    const settings = { type: 'better-sqlite3', database, driver: ListedLibsql } as const
    const dataSource = new DataSource({ ...settings, entities: [AwkwardEntity] })
    await dataSource.initialize()
    onTestFinished(() => dataSource.destroy())
    return { binding: typeormTx(dataSource), own: (work) => dataSource.transaction(work) }
  },
  write: async (db, big) => db.insert(AwkwardEntity, { ...SQLITE_ROW, big }),
  read: async (db) => ({ ...(await db.find(AwkwardEntity))[0] }),
}

const ofSequelize: SqliteLibrary<Transaction> = {
  name: 'Sequelize',
  open: async (storage) => {
    const settings = { dialect: 'sqlite', dialectModule: sqlite3OnLibsql, storage } as const
    const sequelize = new Sequelize({ ...settings, logging: false })
    onTestFinished(() => sequelize.close())
    const { INTEGER, BIGINT, DATE, DATEONLY, JSON, TEXT, BLOB } = DataTypes
    const others = { day: DATEONLY, amount: TEXT, data: JSON, bytes: BLOB, nothing: DATE }
    sequelize.define(
      'awkward',
      {
        id: { type: INTEGER, primaryKey: true },
        big: BIGINT,
        moment: DATE,
        local: DATE,
        ...others,
      },
      { tableName: 'awkward', timestamps: false },
    )
    return { binding: sequelizeTx(sequelize), own: (work) => sequelize.transaction(work) }
  },
  write: async (transaction, big) =>
    modelOf(transaction).create({ ...SQLITE_ROW, big }, { transaction }),
  read: async (transaction) =>
    (await modelOf(transaction).findAll({ transaction, raw: true }))[0] as never,
}

function modelOf(transaction: Transaction) {
  const { sequelize } = transaction as unknown as { readonly sequelize: Sequelize }
  return sequelize.model('awkward')
}

const AwkwardOfMikro = defineEntity({
  name: 'Awkward',
  tableName: 'awkward',
  properties: {
    id: p.integer().primary(),
    big: p.bigint('string'),
    moment: p.datetime(),
    local: p.datetime(),
    day: p.date(),
    amount: p.text(),
    data: p.json<object>(),
    bytes: p.blob(),
    nothing: p.datetime().nullable(),
  },
})

const ofMikroOrm: SqliteLibrary<MikroManager> = {
  name: 'MikroORM',
  open: async (dbName) => {
    const orm = await MikroORM.init({ dbName, entities: [AwkwardOfMikro], connect: false })
    onTestFinished(() => orm.close())
    return { binding: mikroOrmTx(orm), own: (work) => orm.em.fork().transactional(work) }
  },
  write: async (em, big) => em.insert(AwkwardOfMikro, { ...SQLITE_ROW, big }),
  read: async (em) => ({ ...(await em.find(AwkwardOfMikro, {}))[0] }),
}

export const SQLITE_LIBRARIES = [
  ofDrizzle,
  ofKysely,
  ofKnex,
  ofPrisma,
  ofTypeorm,
  ofSequelize,
  ofMikroOrm,
] as unknown as readonly SqliteLibrary<unknown>[]
