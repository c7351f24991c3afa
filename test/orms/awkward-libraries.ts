/**
 * Every library writes and reads one row of `awkward`, by the same code on a transaction of its own and on that of a
 * handler.
 *
 * @module
 */

import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import type { EntityManager as MikroManager } from '@mikro-orm/postgresql'
import { PrismaPg } from '@prisma/adapter-pg'
import * as column from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/node-postgres'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import type { Knex } from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import postgres from 'postgres'
import { DataTypes, Sequelize } from 'sequelize'
import type { Transaction } from 'sequelize'
import { DataSource, EntitySchema } from 'typeorm'
import type { EntityManager } from 'typeorm'
import { onTestFinished } from 'vitest'
import { drizzleTx } from '../../src/bindings/drizzle.ts'
import { knexTx } from '../../src/bindings/knex.ts'
import { kyselyTx } from '../../src/bindings/kysely.ts'
import { mikroOrmTx } from '../../src/bindings/mikro-orm.ts'
import { postgresJsTx } from '../../src/bindings/postgres-js.ts'
import { prismaTx } from '../../src/bindings/prisma.ts'
import { sequelizeTx } from '../../src/bindings/sequelize.ts'
import { typeormTx } from '../../src/bindings/typeorm.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { newPool } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import type { Prisma } from './generated/prisma/client.ts'
import { openSql } from './postgres-js-subject.ts'

export const CREATE_AWKWARD = `create table awkward (
  id int primary key, big bigint, moment timestamptz, local timestamp, day date, amount numeric, data jsonb,
  tags text[], bytes bytea, nothing timestamptz
)`

/** A number past 2^53, a moment that summer time skips in Berlin, more digits than a double has, and quotes. */
export const ROW = {
  id: 1,
  big: '9007199254740993',
  moment: new Date('2026-03-29T01:30:00.123Z'),
  local: new Date('2026-03-29T01:30:00.123Z'),
  day: '2026-03-29',
  amount: '0.30000000000000000001',
  data: { text: `it's "a" \\ ? $1 :x`, nested: ['{"b": "c"}', { d: null }], euro: '€' },
  tags: ['a,b', '{c}', `"d'\\`, '€'],
  bytes: Buffer.from([0, 255, 92, 39]),
  nothing: null,
}

export interface Library<Db> {
  readonly name: string
  /** What it keeps on a connection of its own, where that is not what it was given. */
  readonly ownMistake?: { readonly moment: string }
  open(config: ConnectionConfig): Promise<{
    readonly binding: TxBinding<PostgresTx, Db>
    /** Runs `work` in a transaction on a connection of the library's own. */
    own(work: (db: Db) => Promise<unknown>): PromiseLike<unknown>
  }>
  write(db: Db): Promise<unknown>
  read(db: Db): Promise<unknown>
}

const awkward = column.pgTable('awkward', {
  id: column.integer().primaryKey(),
  big: column.bigint({ mode: 'bigint' }),
  moment: column.timestamp({ withTimezone: true }),
  local: column.timestamp(),
  day: column.date(),
  amount: column.numeric(),
  data: column.jsonb(),
  tags: column.text().array(),
  bytes: column.customType<{ data: Buffer }>({ dataType: () => 'bytea' })(),
  nothing: column.timestamp({ withTimezone: true }),
})

const ofDrizzle: Library<NodePgDatabase> = {
  name: 'Drizzle',
  open: async (config) => {
    const db = drizzle(newPool({ ...config, max: 1 }))
    return {
      binding: drizzleTx() as unknown as TxBinding<PostgresTx, NodePgDatabase>,
      own: (work) => db.transaction((tx) => work(tx)),
    }
  },
  write: async (db) => db.insert(awkward).values({ ...ROW, big: BigInt(ROW.big) }),
  read: async (db) => db.select().from(awkward),
}

/** `pg` makes lists of JavaScript lists; JSON is text to it, as it is to Kysely and Knex. */
const AS_TEXT = { ...ROW, data: JSON.stringify(ROW.data) }

interface Tables {
  awkward: Record<string, unknown>
}

const ofKysely: Library<Kysely<Tables>> = {
  name: 'Kysely',
  open: async (config) => {
    const pool = newPool({ ...config, max: 1 })
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
    return { binding: kyselyTx<Tables>(), own: (work) => db.transaction().execute(work) }
  },
  write: async (db) => db.insertInto('awkward').values(AS_TEXT).execute(),
  read: async (db) => db.selectFrom('awkward').selectAll().execute(),
}

const ofKnex: Library<Knex> = {
  name: 'Knex',
  open: async (config) => {
    const db = knex({ client: 'pg', connection: { ...config }, pool: { min: 0, max: 1 } })
    onTestFinished(() => db.destroy())
    // This folder has a Knex of MikroORM's, whose types are those of another version.
    const binding = knexTx() as unknown as TxBinding<PostgresTx, Knex>
    return { binding, own: (work) => db.transaction((trx) => work(trx)) }
  },
  write: async (db) => db('awkward').insert(AS_TEXT),
  read: async (db) => db('awkward').select(),
}

const ofPrisma: Library<Prisma.TransactionClient> = {
  name: 'Prisma',
  // Its adapter writes a moment without a zone, which the session takes for one of its own.
  ownMistake: { moment: '2026-03-28 20:00:00.123' },
  open: async (config) => {
    const prisma = new PrismaClient({ adapter: new PrismaPg({ ...config, max: 1 }) })
    onTestFinished(() => prisma.$disconnect())
    return { binding: prismaTx(PrismaClient), own: (work) => prisma.$transaction(work) }
  },
  write: async (db) =>
    db.awkward.create({ data: { ...ROW, big: BigInt(ROW.big), day: new Date(ROW.day) } }),
  read: async (db) =>
    (await db.awkward.findMany()).map((row) => ({ ...row, amount: row.amount.toFixed() })),
}

const AwkwardEntity = new EntitySchema<object>({
  name: 'awkward',
  columns: {
    id: { type: 'int', primary: true },
    big: { type: 'bigint' },
    moment: { type: 'timestamptz' },
    local: { type: 'timestamp' },
    day: { type: 'date' },
    amount: { type: 'numeric' },
    data: { type: 'jsonb' },
    tags: { type: 'text', array: true },
    bytes: { type: 'bytea' },
    nothing: { type: 'timestamptz', nullable: true },
  } as never,
})

const ofTypeorm: Library<EntityManager> = {
  name: 'TypeORM',
  open: async ({ user, ...config }) => {
    const settings = { ...config, type: 'postgres', username: user, extra: { max: 1 } } as const
    const dataSource = new DataSource({ ...settings, entities: [AwkwardEntity] })
    await dataSource.initialize()
    onTestFinished(() => dataSource.destroy())
    return { binding: typeormTx(dataSource), own: (work) => dataSource.transaction(work) }
  },
  write: async (db) => db.insert(AwkwardEntity, { ...ROW }),
  read: async (db) => db.find(AwkwardEntity),
}

const ofSequelize: Library<Transaction> = {
  name: 'Sequelize',
  open: async ({ user, password = '', ...config }) => {
    const settings = { ...config, username: user, password, dialect: 'postgres' } as const
    const sequelize = new Sequelize({ ...settings, logging: false, pool: { max: 1 } })
    onTestFinished(() => sequelize.close())
    const { INTEGER, BIGINT, DATE, DATEONLY, DECIMAL, JSONB, ARRAY, TEXT, BLOB } = DataTypes
    sequelize.define(
      'awkward',
      {
        id: { type: INTEGER, primaryKey: true },
        big: BIGINT,
        moment: DATE,
        local: DATE,
        day: DATEONLY,
        amount: DECIMAL,
        data: JSONB,
        tags: ARRAY(TEXT),
        bytes: BLOB,
        nothing: DATE,
      },
      { tableName: 'awkward', timestamps: false },
    )
    return { binding: sequelizeTx(sequelize), own: (work) => sequelize.transaction(work) }
  },
  write: async (transaction) => modelOf(transaction).create({ ...ROW }, { transaction }),
  read: async (transaction) => modelOf(transaction).findAll({ transaction, raw: true }),
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
    moment: p.datetime().columnType('timestamptz'),
    local: p.datetime().columnType('timestamp'),
    day: p.date(),
    amount: p.decimal('string'),
    data: p.json<object>(),
    tags: p.array(),
    bytes: p.blob(),
    nothing: p.datetime().columnType('timestamptz').nullable(),
  },
})

const ofMikroOrm: Library<MikroManager> = {
  name: 'MikroORM',
  open: async ({ database: dbName, ...config }) => {
    const settings = { ...config, dbName, pool: { min: 0, max: 1 }, connect: false }
    const orm = await MikroORM.init({ ...settings, entities: [AwkwardOfMikro] })
    onTestFinished(() => orm.close())
    return { binding: mikroOrmTx(orm), own: (work) => orm.em.fork().transactional(work) }
  },
  write: async (em) => em.insert(AwkwardOfMikro, { ...ROW }),
  read: async (em) => (await em.find(AwkwardOfMikro, {})).map((row) => ({ ...row })),
}

const ofPostgresJs: Library<postgres.TransactionSql> = {
  name: 'postgres.js',
  open: async (config) => {
    const sql = openSql(config)
    return {
      binding: postgresJsTx(postgres, sql),
      own: (work) => sql.begin((tx) => work(tx)),
    }
  },
  write: async (sql) => sql`insert into awkward ${sql({ ...ROW, data: sql.json(ROW.data) })}`,
  read: async (sql) => [...(await sql`select * from awkward`)],
}

export const LIBRARIES = [
  ofDrizzle,
  ofKysely,
  ofKnex,
  ofPrisma,
  ofTypeorm,
  ofSequelize,
  ofMikroOrm,
  ofPostgresJs,
] as unknown as readonly Library<unknown>[]
