/** `inbox.once` and `outbox.send` inside a transaction that the user has opened with each real library. */

import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { PrismaLibSql } from '@prisma/adapter-libsql'
import { PrismaPg } from '@prisma/adapter-pg'
import { describe, onTestFinished } from 'vitest'
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  fromSequelize,
  fromTypeorm,
} from '../../src/index.ts'
import type { KilledDatabase } from '../bindings/run-until-killed.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import { PrismaClient as SqliteClient } from './generated/prisma-sqlite/client.ts'
import { ownSqliteTransactionContract, ownTransactionContract } from './own-transaction-contract.ts'
import type { OwnDatabase, OwnLibrary, OwnSqliteLibrary } from './own-transaction-contract.ts'
import { openSql } from './postgres-js-subject.ts'
import { PREPARE } from './prisma-subject.ts'
import { openSequelize } from './sequelize-effects.ts'
import { insertWithTypeorm, openTypeorm } from './typeorm-effects.ts'

const effects = pgTable('effects', { eventKey: text('event_key'), note: text() })

function openPool(config: ConnectionConfig): pg.Pool {
  const pool = new pg.Pool({ ...config, max: 2 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

const LIBRARIES: readonly OwnLibrary[] = [
  {
    name: 'plain pg',
    open: async (config) => {
      const pool = openPool(config)
      return {
        transact: async (work) => {
          const client = await pool.connect()
          try {
            await client.query('begin')
            const insert = (key: string) =>
              client.query('insert into effects (event_key) values ($1)', [key])
            const result = await work(fromPg(client), insert)
            await client.query('commit')
            return result
          } catch (error) {
            await client.query('rollback')
            throw error
          } finally {
            client.release()
          }
        },
        mistake: () => fromPg(pool),
      }
    },
  },
  {
    name: 'Drizzle',
    open: async (config) => {
      const db = drizzle(openPool(config))
      return {
        transact: (work) =>
          db.transaction((tx) =>
            work(fromDrizzle(tx), async (eventKey) => tx.insert(effects).values({ eventKey })),
          ),
        mistake: () => fromDrizzle(db as never),
      }
    },
  },
  {
    name: 'Kysely',
    open: async (config) => {
      const pool = openPool(config)
      const db = new Kysely<{ effects: { event_key: string } }>({
        dialect: new PostgresDialect({ pool }),
      })
      return {
        transact: (work) =>
          db
            .transaction()
            .execute((trx) =>
              work(fromKysely(trx), (key) =>
                trx.insertInto('effects').values({ event_key: key }).execute(),
              ),
            ),
        mistake: () => fromKysely(db),
      }
    },
  },
  {
    name: 'Knex',
    open: async (config) => {
      const db = knex({ client: 'pg', connection: { ...config }, pool: { min: 0, max: 2 } })
      onTestFinished(() => db.destroy())
      return {
        transact: (work) =>
          db.transaction((trx) =>
            work(fromKnex(trx), async (key) => trx('effects').insert({ event_key: key })),
          ),
        mistake: () => fromKnex(db),
      }
    },
  },
  {
    name: 'Prisma',
    prepare: PREPARE,
    open: async ({ user, ...config }) => {
      const prisma = new PrismaClient({ adapter: new PrismaPg({ ...config, user, max: 2 }) })
      onTestFinished(() => prisma.$disconnect())
      return {
        transact: (work) =>
          prisma.$transaction((tx) =>
            work(fromPrisma(tx), (eventKey) => tx.effect.create({ data: { eventKey } })),
          ),
        mistake: () => fromPrisma(prisma),
      }
    },
  },
  {
    name: 'TypeORM',
    open: (config) => openOwnTypeorm({ engine: 'postgres', config }),
  },
  {
    name: 'Sequelize',
    open: (config) => openOwnSequelize({ engine: 'postgres', config }),
  },
  {
    name: 'postgres.js',
    open: async (config) => {
      const sql = openSql(config)
      onTestFinished(() => sql.end())
      return {
        // It unwraps lists of promises by its types, which are no concern of the contract.
        transact: (work) =>
          sql.begin((tx) =>
            work(
              fromPostgresJs(tx),
              async (key) => tx`insert into effects (event_key) values (${key})`,
            ),
          ) as Promise<never>,
        mistake: () => fromPostgresJs(sql),
      }
    },
  },
]

/** Those of the root are in `test/own-tx/own-transactions.test.ts`, MikroORM in `mikro-orm.test.ts`. */
const ON_SQLITE: readonly OwnSqliteLibrary[] = [
  { name: 'TypeORM', open: (file) => openOwnTypeorm({ engine: 'sqlite', file }) },
  { name: 'Sequelize', open: (file) => openOwnSequelize({ engine: 'sqlite', file }) },
  {
    name: 'Prisma',
    open: async (file) => {
      const prisma = new SqliteClient({ adapter: new PrismaLibSql({ url: `file:${file}` }) })
      onTestFinished(() => prisma.$disconnect())
      return {
        transact: (work) =>
          prisma.$transaction((tx) =>
            work(fromPrisma(tx), (eventKey) => tx.effect.create({ data: { eventKey } })),
          ),
        mistake: () => fromPrisma(prisma),
      }
    },
  },
]

async function openOwnTypeorm(database: KilledDatabase): Promise<OwnDatabase> {
  const dataSource = await openTypeorm(database, { isOnFile: true })
  onTestFinished(() => dataSource.destroy())
  return {
    transact: (work) =>
      dataSource.transaction((manager) =>
        work(fromTypeorm(manager), (key) => insertWithTypeorm(manager, key, '')),
      ),
    mistake: () => fromTypeorm(dataSource.manager),
  }
}

async function openOwnSequelize(database: KilledDatabase): Promise<OwnDatabase> {
  const { sequelize, Effects } = openSequelize(database)
  onTestFinished(() => sequelize.close())
  return {
    transact: (work) =>
      sequelize.transaction((transaction) =>
        work(fromSequelize(sequelize, transaction), (eventKey) =>
          Effects.create({ eventKey, note: '' }, { transaction }),
        ),
      ),
    mistake: () => fromSequelize(sequelize, sequelize),
  }
}

describe.skipIf(hasNoPostgres)('a transaction that the user has opened on PostgreSQL', () => {
  for (const library of LIBRARIES) ownTransactionContract(library)
})

describe('a transaction that the user has opened on SQLite', () => {
  for (const library of ON_SQLITE) ownSqliteTransactionContract(library)
})
