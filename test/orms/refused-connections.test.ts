/** What has connections of its own, given to each binding by mistake. */

import Database from 'libsql'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleProxy } from 'drizzle-orm/sqlite-proxy'
import knex from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { PrismaPg } from '@prisma/adapter-pg'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { drizzleTx } from '../../src/bindings/drizzle.ts'
import { drizzleTx as drizzleSqliteTx } from '../../src/bindings/drizzle-sqlite.ts'
import { knexTx } from '../../src/bindings/knex.ts'
import { kyselyTx } from '../../src/bindings/kysely.ts'
import { mikroOrmTx } from '../../src/bindings/mikro-orm.ts'
import { postgresJsTx } from '../../src/bindings/postgres-js.ts'
import { prismaTx } from '../../src/bindings/prisma.ts'
import { sequelizeTx } from '../../src/bindings/sequelize.ts'
import { typeormTx } from '../../src/bindings/typeorm.ts'
import { PrismaClient } from './generated/prisma/client.ts'

// None of them ever connects.
const config = { host: 'localhost', port: 1, user: 'none', database: 'none' }
const pool = new pg.Pool(config)
const client = new pg.Client(config)
const kysely = new Kysely<object>({
  dialect: new PostgresDialect({ pool }),
  plugins: [new CamelCasePlugin()],
})
const sql = postgres(config)
const proxy = drizzleProxy(async () => ({ rows: [] }))
const prisma = new PrismaClient({ adapter: new PrismaPg(config) })
const file = new Database(':memory:')

/** By its name: what the binding is, how it is called, and what its own library has that is no transaction either. */
const BINDINGS: readonly [string, (given: never) => unknown, readonly [string, unknown][]][] = [
  ['drizzleTx', drizzleTx, [['a database of Drizzle', drizzle(pool)]]],
  ['drizzleTx', drizzleSqliteTx, [['a database of Drizzle', proxy]]],
  ['kyselyTx', kyselyTx, [['a database of Kysely', kysely]]],
  ['knexTx', knexTx, [['an instance of Knex', knex({ client: 'pg' })]]],
  ['prismaTx', prismaTx, [['a client of Prisma', prisma]]],
  ['typeormTx', typeormTx, []],
  ['sequelizeTx', sequelizeTx, []],
  ['mikroOrmTx', mikroOrmTx, []],
  ['postgresJsTx', (given) => postgresJsTx(given, sql), [['a sql of postgres.js', sql]]],
]
const ANYWHERE = [
  ['a pool of pg', pool],
  ['a client of pg', client],
  ['a connection to SQLite', file],
] as const

describe.each(BINDINGS)('%s', (name, bind, own) => {
  test.each([...ANYWHERE, ...own])('refuses %s by name, and says what to give', (what, given) => {
    expect(() => bind(given as never)).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        option: name,
        message: expect.stringMatching(
          `^${name} was given ${what}: .* Give a pool to postgresStore.* and here .*`,
        ) as string,
      }),
    )
  })
})

test('the class of a pool is no class of a client of Prisma', () => {
  expect(() => prismaTx(pg.Pool as never)).toThrow('prismaTx must be given the class PrismaClient')
  expect(() => prismaTx(class Own extends PrismaClient {})).not.toThrow()
})

test('a database in place of options does not compile', () => {
  // @ts-expect-error it has none of the options
  expect(() => kyselyTx(kysely)).toThrow('a database of Kysely')
  // @ts-expect-error it has none of the options
  expect(() => knexTx(knex({ client: 'pg' }))).toThrow('an instance of Knex')
  // @ts-expect-error a client is no class
  expect(() => prismaTx(prisma)).toThrow('a client of Prisma')
})
