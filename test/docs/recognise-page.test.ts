/** What docs/gateway.md says to a service behind a gateway: how it knows a `webhook-id` again. */

import { expect, test } from 'vitest'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'
import { startDatabase } from './start-database.ts'

const recipes = listBlocks(readPage('docs/gateway.md')).filter(({ code }) =>
  /webhook_?ids?/i.test(code),
)

/** Three requests with one id at once, and one whose first work fails. */
const SERVICE = `
const work = (tx) => tx.query('insert into effects default values')
await Promise.all([1, 2, 3].map(() => handle('msg_1', work)))
const fails = async (tx) => { await work(tx); throw new Error('not now') }
await handle('msg_2', fails).catch(() => undefined)
await handle('msg_2', work)
await handle('msg_2', work)
await pool.end()
`

test('the recipe is there in five languages', () => {
  expect(recipes.map(({ language }) => language)).toEqual(['ts', 'python', 'go', 'ruby', 'php'])
})

test.skipIf(hasNoPostgres)('the recipe in TypeScript does the work of each id once', async () => {
  const { url, query } = await startDatabase([
    'create table webhook_ids (id text primary key)',
    'create table effects (id int generated always as identity)',
  ])
  const [recipe] = assembleSnippets(recipes)
  const { hostname, port, username, password, pathname } = new URL(url)
  const env = {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
  }

  const ran = await runSnippet({ code: `${recipe?.code}\n${SERVICE}` }, env)

  expect(ran).toEqual({ code: 0, stderr: '' })
  expect(await query('select count(*)::int as count from effects')).toEqual([{ count: 2 }])
})
