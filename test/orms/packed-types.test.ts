/**
 * The types of the packed package with those of each library, as a service gets them that is a module (`.mts`) and one
 * that is CommonJS (`.cts`): a handler's `tx` must be what the library's own code takes.
 */

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'

const ROOT = path.join(import.meta.dirname, '../..')
const HERE = path.join(import.meta.dirname, 'node_modules')

/** A handler for each entry that has a library. `tx` goes where the library's own types say what it takes. */
const SERVICES: Readonly<Record<string, string>> = {
  drizzle: `
    import { pgTable, text } from 'drizzle-orm/pg-core'
    import type { PgTransaction } from 'drizzle-orm/pg-core'
    import { drizzleTx } from 'hookonce/drizzle'
    const paid = pgTable('paid', { id: text().primaryKey() })
    const inbox = on(drizzleTx({ schema: { paid } }))
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      const own: PgTransaction<any, any, any> = tx
      await tx.insert(paid).values({ id: key })
      const found: { id: string } | undefined = await tx.query.paid.findFirst()
      // @ts-expect-error there is no such column
      await tx.insert(paid).values({ nosuch: key })
      void [own, found]
    })`,
  'drizzle/sqlite': `
    import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
    import { drizzleTx } from 'hookonce/drizzle/sqlite'
    import { sqliteStore } from 'hookonce/sqlite'
    const paid = sqliteTable('paid', { id: text().primaryKey() })
    const store = sqliteStore('never-opened.db', { tx: drizzleTx({ schema: { paid } }) })
    const inbox = createInbox({ store, sources })
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      await tx.insert(paid).values({ id: key })
      // @ts-expect-error there is no such column
      await tx.insert(paid).values({ nosuch: key })
    })`,
  kysely: `
    import type { Transaction } from 'kysely'
    import { kyselyTx } from 'hookonce/kysely'
    interface Tables { paid: { id: string } }
    const inbox = on(kyselyTx<Tables>())
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      const own: Transaction<Tables> = tx
      await own.insertInto('paid').values({ id: key }).execute()
      // @ts-expect-error there is no such table
      await tx.insertInto('nosuch').values({ id: key }).execute()
    })`,
  knex: `
    import type { Knex } from 'knex'
    import { knexTx } from 'hookonce/knex'
    const inbox = on(knexTx())
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      const own: Knex.Transaction = tx
      await own('paid').insert({ id: key })
      // @ts-expect-error there is no such method
      await tx('paid').nosuch()
    })`,
  prisma: `
    import { prismaTx } from 'hookonce/prisma'
    import { PrismaClient } from './generated/prisma/client.ts'
    import type { Prisma } from './generated/prisma/client.ts'
    const inbox = on(prismaTx(PrismaClient))
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      const own: Prisma.TransactionClient = tx
      await own.effect.create({ data: { eventKey: key } })
      // @ts-expect-error there is no such column
      await tx.effect.create({ data: { nosuch: key } })
    })`,
  typeorm: `
    import { DataSource, EntityManager, EntitySchema } from 'typeorm'
    import { typeormTx } from 'hookonce/typeorm'
    const Paid = new EntitySchema<{ id: string }>({ name: 'paid', columns: { id: { type: 'text', primary: true } } })
    const inbox = on(typeormTx(new DataSource({ type: 'postgres', entities: [Paid] })))
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      const own: EntityManager = tx
      await own.insert(Paid, { id: key })
      // @ts-expect-error there is no such column
      await tx.insert(Paid, { nosuch: key })
    })`,
  sequelize: `
    import { Sequelize, Transaction } from 'sequelize'
    import { sequelizeTx } from 'hookonce/sequelize'
    const sequelize = new Sequelize('postgres://127.0.0.1/app')
    const inbox = on(sequelizeTx(sequelize))
    inbox.on('pings', '*', async (_event, { tx }) => {
      const own: Transaction = tx
      await sequelize.query('select 1', { transaction: own })
      // @ts-expect-error there is no such method
      await tx.nosuch()
    })`,
  'mikro-orm': `
    import { EntitySchema, MikroORM } from '@mikro-orm/postgresql'
    import type { SqlEntityManager } from '@mikro-orm/postgresql'
    import { mikroOrmTx } from 'hookonce/mikro-orm'
    const Paid = new EntitySchema<{ id: string }>({ name: 'Paid', properties: { id: { type: 'text', primary: true } } })
    const inbox = on(mikroOrmTx(MikroORM.initSync({ entities: [Paid], dbName: 'app' })))
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      const own: SqlEntityManager = tx
      await own.insert(Paid, { id: key })
      // @ts-expect-error there is no such method
      await tx.nosuch()
    })`,
  'postgres-js': `
    import postgres = require('postgres')
    import { postgresJsTx } from 'hookonce/postgres-js'
    const sql = postgres('postgres://127.0.0.1/app')
    const inbox = on(postgresJsTx(postgres, sql))
    inbox.on('pings', '*', async ({ key }, { tx }) => {
      await tx\`insert into paid \${tx({ id: key })}\`
      // @ts-expect-error there is no such method
      await tx.nosuch()
    })`,
}

const BEGIN = `
import { createInbox } from 'hookonce'
import { postgresStore } from 'hookonce/postgres'
import type { PgPool, PostgresTx } from 'hookonce/postgres'
import { stripe } from 'hookonce/providers'
import type { TxBinding } from 'hookonce'
declare const pool: PgPool
const sources = { pings: stripe({ secrets: ['a-secret-of-more-than-16-bytes'] }) }
function on<Tx>(tx: TxBinding<PostgresTx, Tx>) {
  return createInbox({ store: postgresStore({ pool, tx }), sources })
}
`

const LINKED = {
  [path.join(ROOT, 'node_modules')]: ['@types', 'drizzle-orm', 'kysely', 'knex', 'undici-types'],
  [HERE]: ['@mikro-orm', '@prisma', 'postgres', 'sequelize', 'typeorm'],
}

test(
  'each entry for a library has its types in modules and in CommonJS',
  { timeout: 900_000 },
  () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-types-'))
    onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
    const modules = path.join(folder, 'node_modules')
    fs.cpSync(inject('packed').installed, path.join(modules, 'hookonce'), { recursive: true })
    fs.cpSync(path.join(HERE, '../generated'), path.join(folder, 'generated'), { recursive: true })
    for (const [from, names] of Object.entries(LINKED))
      for (const name of names) fs.symlinkSync(path.join(from, name), path.join(modules, name))
    const files = Object.entries(SERVICES).flatMap(([entry, code]) =>
      ['mts', 'cts'].map((extension) => {
        const name = `${entry.replace('/', '-')}.${extension}`
        const fits =
          extension === 'mts'
            ? code.replace('import postgres = require', 'import postgres from')
            : code
        fs.writeFileSync(
          path.join(folder, name),
          BEGIN + fits.replace("from('postgres')", "from 'postgres'"),
        )
        return name
      }),
    )
    const compilerOptions = {
      module: 'nodenext',
      moduleResolution: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable', 'dom'],
      strict: true,
      noEmit: true,
      // The client that Prisma has generated is TypeScript.
      allowImportingTsExtensions: true,
      types: ['node'],
      // The libraries' own declarations need packages that are not there.
      skipLibCheck: true,
    }
    fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}')
    fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))

    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })

    expect(stdout).toBe('')
  },
)

test('no entry for a library is left out', () => {
  const { exports } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly default?: string }>>
  }

  const bound = Object.entries(exports).filter(([, target]) =>
    target.default?.startsWith('./dist/bindings/'),
  )
  expect(bound.map(([entry]) => entry.slice(2)).sort()).toEqual(Object.keys(SERVICES).sort())
})
