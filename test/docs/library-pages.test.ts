/** The pages of the libraries that the root has. Those of the others are run by `npm run test:orms`. */

import { describe, expect, test } from 'vitest'
import { listServices, putOnSqlite, serveInvoices, servePushes } from './library-pages.ts'

const ONCE = [{ invoice: 'in_1' }]

describe.each(['drizzle', 'kysely', 'knex'])('the page of %s', (name) => {
  const page = `docs/guides/${name}.md`

  test('has a service for PostgreSQL whose effect happens once', async () => {
    const [code = ''] = listServices(page)

    expect(await serveInvoices(code)).toEqual(ONCE)
  })
})

describe.each(['kysely', 'knex'])('the page of %s', (name) => {
  const page = `docs/guides/${name}.md`

  test('names a store on which its service works with SQLite', async () => {
    expect(await serveInvoices(putOnSqlite(page), { engine: 'sqlite' })).toEqual(ONCE)
  })
})

test('the page of drizzle has a service for SQLite whose effect happens once', async () => {
  const [, code = ''] = listServices('docs/guides/drizzle.md')
  const columns = 'id integer primary key, commits integer'

  expect(await servePushes(code, { columns })).toEqual([{ id: 1, commits: 1 }])
})
