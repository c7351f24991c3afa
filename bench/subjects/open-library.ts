/**
 * The same row, written by each library that a handler's `tx` can be of, as its users would write it.
 *
 * Drizzle, Kysely and Knex are those of the root. The others are installed in `test/orms`, and described here by the few
 * members that are used, so that the types of this project can be checked without them.
 *
 * @module
 */

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pgTable, text } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { drizzleTx } from '../../src/bindings/drizzle.ts'
import { knexTx } from '../../src/bindings/knex.ts'
import { kyselyTx } from '../../src/bindings/kysely.ts'
import { mikroOrmTx } from '../../src/bindings/mikro-orm.ts'
import { postgresJsTx } from '../../src/bindings/postgres-js.ts'
import type { PostgresJs, PostgresJsSql } from '../../src/bindings/postgres-js.ts'
import { prismaTx } from '../../src/bindings/prisma.ts'
import type { PrismaClientClass } from '../../src/bindings/prisma.ts'
import { sequelizeTx } from '../../src/bindings/sequelize.ts'
import type { SequelizeInstance } from '../../src/bindings/sequelize.ts'
import { typeormTx } from '../../src/bindings/typeorm.ts'
import type { TypeormDataSource } from '../../src/bindings/typeorm.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { BENCH_DIR } from '../harness/folders.ts'
import type { DrainConfig } from './drain-config.ts'

export type LibraryName =
  | 'tx.query'
  | 'tx.write'
  | 'Drizzle'
  | 'Kysely'
  | 'Knex'
  | 'Prisma'
  | 'TypeORM'
  | 'Sequelize'
  | 'MikroORM'
  | 'postgres.js'

type Config = NonNullable<DrainConfig['postgres']>

/** A library that is opened, on a store. */
interface Opened {
  readonly binding?: TxBinding<PostgresTx, unknown>
  /** What the binding gives, each its own. */
  write(tx: never, eventId: string): unknown
  close?(): Promise<unknown>
}

export async function openLibrary(
  name: LibraryName,
  { postgres, poolMax }: DrainConfig,
): Promise<{
  readonly store: Store<PostgresTx, unknown>
  write(tx: unknown, eventId: string): Promise<void>
  close(): Promise<void>
}> {
  if (postgres === undefined) throw new Error('The libraries are measured on PostgreSQL')
  const { binding, write, close } = await OPEN[name](postgres)
  const pool = new pg.Pool({ ...postgres, max: poolMax })
  // A connection that a handler has ended may tell of it after the store is closed.
  pool.on('error', () => {})
  return {
    store: postgresStore({ pool, ...(binding !== undefined && { tx: binding }) }),
    write: async (tx, eventId) => {
      await write(tx as never, eventId)
    },
    close: async () => {
      await close?.()
      await pool.end()
    },
  }
}

const INSERT = 'insert into effect (event_key) values ($1)'

const OPEN: Readonly<Record<LibraryName, (config: Config) => Promise<Opened>>> = {
  'tx.query': async () => ({ write: (tx: PostgresTx, id) => tx.query(INSERT, [id]) }),
  'tx.write': async () => ({ write: (tx: PostgresTx, id) => tx.write(INSERT, [id]) }),
  Drizzle: async () => {
    const effect = pgTable('effect', { eventKey: text('event_key') })
    return opened(drizzleTx(), (tx, eventKey) => tx.insert(effect).values({ eventKey }))
  },
  Kysely: async () =>
    opened(kyselyTx<{ effect: { event_key: string } }>(), (tx, id) =>
      tx.insertInto('effect').values({ event_key: id }).execute(),
    ),
  Knex: async () => opened(knexTx(), (tx, id) => tx('effect').insert({ event_key: id })),
  Prisma: async () => {
    const bundle = join(ORMS, 'node_modules', '.bench', 'prisma.mjs')
    const { PrismaClient } = (await import(pathToFileURL(bundle).href)) as {
      PrismaClient: PrismaClientClass<{ effect: { create(given: object): Promise<unknown> } }>
    }
    return opened(prismaTx(PrismaClient), (tx, eventKey) =>
      tx.effect.create({ data: { eventKey } }),
    )
  },
  TypeORM: async ({ user, ...config }) => {
    const { DataSource, EntitySchema } = requireLibrary<{
      DataSource: new (options: object) => TypeormDataSource & Opening
      EntitySchema: new (options: object) => object
    }>('typeorm')
    const eventKey = { type: 'text', name: 'event_key', primary: true }
    const Effect = new EntitySchema({ name: 'effect', columns: { eventKey } })
    const entities = [Effect]
    const source = new DataSource({ ...config, type: 'postgres', username: user, entities })
    await source.initialize()
    return opened(
      typeormTx(source),
      (tx, id) => (tx as Inserting).insert(Effect, { eventKey: id }),
      () => source.destroy(),
    )
  },
  Sequelize: async ({ user, ...config }) => {
    const { Sequelize, DataTypes } = requireLibrary<{
      Sequelize: new (options: object) => SequelizeInstance & Defining
      DataTypes: { readonly TEXT: unknown }
    }>('sequelize')
    const options = { ...config, dialect: 'postgres', username: user, logging: false }
    const sequelize = new Sequelize({ ...options, define: { timestamps: false } })
    const columns = { eventKey: { type: DataTypes.TEXT, field: 'event_key', primaryKey: true } }
    const Effect = sequelize.define('effect', columns, { tableName: 'effect' })
    return opened(
      sequelizeTx(sequelize),
      (transaction, eventKey) => Effect.create({ eventKey }, { transaction }),
      () => sequelize.close(),
    )
  },
  MikroORM: async ({ database, ...config }) => {
    const { MikroORM, EntitySchema } = requireLibrary<{
      MikroORM: { init(options: object): Promise<Managing> }
      EntitySchema: new (options: object) => object
    }>('@mikro-orm/postgresql')
    const eventKey = { type: 'string', fieldName: 'event_key', primary: true }
    const Effect = new EntitySchema({
      name: 'Effect',
      tableName: 'effect',
      properties: { eventKey },
    })
    const orm = await MikroORM.init({ ...config, dbName: database, entities: [Effect] })
    // Written when the handler returns, as MikroORM's users do it.
    return opened(
      mikroOrmTx(orm),
      (tx, id) => tx.persist(tx.create(Effect, { eventKey: id })),
      () => orm.close(),
    )
  },
  'postgres.js': async ({ user, host, port, database, password = '' }) => {
    const postgres = requireLibrary<((options: object) => Tagged) & PostgresJs>('postgres')
    const sql = postgres({ user, host, port, database, password, max: 1 })
    return opened(
      postgresJsTx(postgres, sql),
      (tx, id) => (tx as unknown as Tagged)`insert into effect (event_key) values (${id})`,
      () => sql.end(),
    )
  },
}

/** Keeps the type of `tx` between the binding and what is written by it. */
function opened<Tx>(
  binding: TxBinding<PostgresTx, Tx>,
  write: (tx: Tx, eventId: string) => unknown,
  close?: () => Promise<unknown>,
): Opened {
  return { binding, write, ...(close !== undefined && { close }) }
}

interface Opening {
  initialize(): Promise<unknown>
  destroy(): Promise<void>
}

interface Inserting {
  insert(entity: object, values: object): Promise<unknown>
}

interface Defining {
  define(
    name: string,
    columns: object,
    options: object,
  ): { create(values: object, options: object): Promise<unknown> }
  close(): Promise<void>
}

interface Managing {
  readonly em: {
    flush(): Promise<void>
    create(entity: object, values: object): object
    persist(entity: object): unknown
  }
  close(): Promise<void>
}

type Tagged = PostgresJsSql & {
  (text: TemplateStringsArray, ...values: unknown[]): Promise<unknown>
  end(): Promise<void>
}

const ORMS = join(BENCH_DIR, '..', 'test', 'orms')

function requireLibrary<Library>(name: string): Library {
  return createRequire(join(ORMS, 'package.json'))(name) as Library
}
