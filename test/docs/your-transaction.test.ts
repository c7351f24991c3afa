/** The blocks of `docs/guides/your-transaction.md` in processes of their own, on a real PostgreSQL. */

import { expect, test } from 'vitest'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'
import { startDatabase } from './start-database.ts'

const blocks = assembleSnippets(listBlocks(readPage('docs/guides/your-transaction.md')))
const find = (text: string) => blocks.find(({ code }) => code.includes(text))?.code ?? ''

test('a job that is started twice at once, and once more, writes its report once', async () => {
  const { url, query } = await startDatabase(['create table reports (day text)'])
  const code = `${find('export async function closeDay')}\n${RUN_JOB}`

  for (let process = 0; process < 2; process += 1)
    expect(await runSnippet({ code }, { DATABASE_URL: url })).toMatchObject({ code: 0 })

  expect(await query('select day from reports')).toEqual([{ day: '2026-11-16' }])
})

const RUN_JOB = `
await Promise.all([closeDay('2026-11-16'), closeDay('2026-11-16')])
await closeDay('2026-11-16')
await inbox.stop()
await pool.end()
`

test('an endpoint with an Idempotency-Key pays once for each account and key', async () => {
  const { url, query } = await startDatabase(['create table payments (account text, amount int)'])
  const code = `${find('export async function pay')}\n${CALL_ENDPOINT}`

  expect(await runSnippet({ code }, { DATABASE_URL: url })).toMatchObject({ code: 0 })

  expect(await query('select account, amount from payments order by account, amount')).toEqual([
    { account: 'alice', amount: 5 },
    { account: 'alice', amount: 7 },
    { account: 'alice', amount: 9 },
    { account: 'bob', amount: 5 },
  ])
})

const CALL_ENDPOINT = `
import { deepEqual, equal } from 'node:assert/strict'
import { createInbox } from 'hookonce'
import { postgresStore } from 'hookonce/postgres'
import { Kysely as KyselyOf, PostgresDialect } from 'kysely'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
globalThis.db = new KyselyOf({ dialect: new PostgresDialect({ pool }) })
const app = createInbox({ store: postgresStore({ pool }), sources: {}, worker: false })
globalThis.inbox = app
await app.start()

const call = async (account, key, amount) => {
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  const request = new Request('https://api.example.com/payments', { method: 'POST', headers, body: JSON.stringify({ amount }) })
  const response = await pay(request, account)
  return [response.status, await response.text()]
}

deepEqual(await call('alice', 'k1', 5), [200, '{"amount":5}'])
deepEqual(await call('alice', 'k1', 5), [200, '{"amount":5}'])
equal((await call('alice', 'k1', 6))[0], 422)
deepEqual(await call('bob', 'k1', 5), [200, '{"amount":5}'])
for (const key of [undefined, 'with space', 'x'.repeat(256)]) equal((await call('alice', key, 5))[0], 400)

// While another statement has the table the first request waits with its key, and the second is not made to wait.
const blocker = await pool.connect()
await blocker.query('begin; lock table payments in share mode')
const first = call('alice', 'k2', 9)
for (;;) {
  const { rows } = await blocker.query("select 1 from pg_locks where relation = 'payments'::regclass and not granted")
  if (rows.length > 0) break
  await new Promise((resolve) => setTimeout(resolve, 10))
}
equal((await call('alice', 'k2', 9))[0], 409)
await blocker.query('rollback')
blocker.release()
deepEqual(await first, [200, '{"amount":9}'])
deepEqual(await call('alice', 'k2', 9), [200, '{"amount":9}'])

// What fails before its COMMIT leaves the key free.
await pool.query('alter table payments add check (amount < 100)')
await call('alice', 'k3', 100).then(() => { throw new Error('It should fail') }, (error) => equal(error.code, '23514'))
deepEqual(await call('alice', 'k3', 7), [200, '{"amount":7}'])
await app.stop()
await pool.end()
`
