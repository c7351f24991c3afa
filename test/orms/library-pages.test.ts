/** The pages of the libraries of this folder. Those of the others are run by the root, in `test/docs`. */

import { describe, expect, test } from 'vitest'
import { ROOT } from '../docs/markdown.ts'
import { listServices, putOnSqlite, serveInvoices, servePushes } from '../docs/library-pages.ts'
import type { InvoicesAs } from '../docs/library-pages.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'

/** Where a block finds the client that Prisma generates, and the libraries. */
const HOME = { files: 'test/orms/generated', packages: 'test/orms/node_modules' }
const ONCE = [{ invoice: 'in_1' }]

const PAGES: readonly (InvoicesAs & { readonly name: string })[] = [
  {
    name: 'prisma',
    table: 'Invoice',
    columns: `id text primary key, amount bigint default 0, rate numeric, "paidAt" timestamptz(3),
      "writtenAt" timestamp(3), day date, meta jsonb, bytes bytea, tags text[], amounts bigint[], "customerId" int`,
  },
  { name: 'typeorm' },
  {
    name: 'mikro-orm',
    // As MikroORM names the table of its entity.
    table: 'invoice',
  },
  {
    name: 'sequelize',
    columns: 'id text primary key, status text, "createdAt" timestamptz, "updatedAt" timestamptz',
  },
  { name: 'postgres-js' },
]

describe.skipIf(hasNoPostgres).each(PAGES)('the page of $name', ({ name, ...as }) => {
  test('has a service for PostgreSQL whose effect happens once', async () => {
    const [code = ''] = listServices(`docs/guides/${name}.md`)

    expect(await serveInvoices(code, { ...as, home: HOME })).toEqual(ONCE)
  })
})

test('the page of prisma names a store on which its service works with SQLite', async () => {
  const code = putOnSqlite('docs/guides/prisma.md').replace('./prisma/', './prisma-sqlite/')
  const columns = `id text primary key, amount bigint default 0, rate numeric, isPaid boolean, paidAt datetime,
    meta json, bytes blob, customerId integer`
  const as = { engine: 'sqlite', table: 'Invoice', columns, home: HOME } as const

  expect(await serveInvoices(code, as)).toEqual(ONCE)
})

/** What stands here for a package that is compiled when it is installed. */
const STAND_INS: readonly (readonly [name: string, given: string, instead: string])[] = [
  ['typeorm', "type: 'better-sqlite3',", "type: 'better-sqlite3', driver: ListedLibsql,"],
  ['mikro-orm', '', ''],
  [
    'sequelize',
    "{ dialect: 'sqlite' }",
    "{ dialect: 'sqlite', dialectModule: sqlite3OnLibsql, logging: false }",
  ],
]

test.each(STAND_INS)(
  'the page of %s has a service for SQLite whose effect happens once',
  async (name, given, instead) => {
    const [, code = ''] = listServices(`docs/guides/${name}.md`)
    expect(code).toContain(given)
    const text = `
      import { ListedLibsql } from '${ROOT}/test/orms/listed-libsql.ts'
      import { sqlite3OnLibsql } from '${ROOT}/test/orms/sqlite3-on-libsql.ts'
      ${code.replace(given, instead)}`
    const columns = 'id integer primary key, ref text'
    const table = name === 'mikro-orm' ? 'push' : 'pushes'

    const pushes = await servePushes(text, { table, columns, home: HOME })

    expect(pushes).toEqual([{ id: 1, ref: 'refs/heads/main' }])
  },
)
