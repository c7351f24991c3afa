/**
 * A service of a user's whose handlers have database libraries as their `tx`, to be put together by a bundler and run.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** What npm installs for it. */
export const LIBRARY_PACKAGES = ['hookonce', 'libsql', 'pg', 'drizzle-orm', 'kysely', 'knex']

/** For each library and store takes one event in, twice, and says how often its handler took effect. */
export const LIBRARY_SERVICE = `
import { eq } from 'drizzle-orm'
import { pgTable, text as pgText } from 'drizzle-orm/pg-core'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { createInbox } from 'hookonce'
import { drizzleTx } from 'hookonce/drizzle'
import { drizzleTx as drizzleSqliteTx } from 'hookonce/drizzle/sqlite'
import { knexTx } from 'hookonce/knex'
import { kyselyTx } from 'hookonce/kysely'
import { postgresStore } from 'hookonce/postgres'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { sign } from 'hookonce/testing'
import pg from 'pg'

const secret = 'whsec_test_secret_of_some_length'
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const onPostgres = (tx) => postgresStore({ pool, tx })
const onSqlite = (tx) => sqliteStore(process.env.FILE, { driver: 'libsql', tx })

const withDrizzle = (paid) => async (tx, key) => {
  await tx.insert(paid).values({ key })
  return (await tx.select().from(paid).where(eq(paid.key, key))).length
}
const withKysely = async (tx, key) => {
  await tx.insertInto('paid').values({ key }).execute()
  return (await tx.selectFrom('paid').selectAll().where('key', '=', key).execute()).length
}
const withKnex = async (tx, key) => {
  await tx('paid').insert({ key })
  return (await tx('paid').where({ key })).length
}
const pgPaid = pgTable('paid', { key: pgText() })
const sqlitePaid = sqliteTable('paid', { key: text() })

const subjects = {
  'drizzle on postgres': [onPostgres(drizzleTx({ schema: { pgPaid } })), withDrizzle(pgPaid)],
  'kysely on postgres': [onPostgres(kyselyTx()), withKysely],
  'knex on postgres': [onPostgres(knexTx()), withKnex],
  'drizzle on sqlite': [onSqlite(drizzleSqliteTx({ schema: { sqlitePaid } })), withDrizzle(sqlitePaid)],
  'kysely on sqlite': [onSqlite(kyselyTx()), withKysely],
  'knex on sqlite': [onSqlite(knexTx({ useNullAsDefault: true })), withKnex],
}

async function serve(name, store, pay) {
  const inbox = createInbox({ store, sources: { stripe: stripe({ secrets: [secret] }) } })
  let effects = 0
  inbox.on('stripe', 'invoice.paid', async ({ key }, { tx, sql }) => {
    await sql.query('create table if not exists paid (key text)')
    effects = await pay(tx, key)
  })
  await inbox.start()
  const done = new Promise((resolve) => {
    inbox.events.on('event.done', resolve)
    inbox.events.on('event.failed', resolve)
  })
  const body = { object: 'event', data: { object: { name } } }
  const delivery = sign('stripe', { key: name, type: 'invoice.paid', body }, { secret })
  const answers = [await inbox.receive('stripe', delivery)]
  const { error } = await done
  answers.push(await inbox.receive('stripe', delivery))
  await inbox.stop()
  if (error !== undefined) throw new Error(name + ': ' + error.message)
  console.log(name, ...answers.map(({ status }) => status), effects)
}

async function main() {
  for (const [name, [store, pay]] of Object.entries(subjects)) await serve(name, store, pay)
  await pool.end()
}

main().catch((error) => {
  console.error(error)
  // What was started would keep the process.
  process.exit(1)
})
`

export const LIBRARY_SERVICE_SAYS = ['postgres', 'sqlite']
  .flatMap((engine) =>
    ['drizzle', 'kysely', 'knex'].map((name) => `${name} on ${engine} 200 200 1\n`),
  )
  .join('')

/** What the service prints. */
export async function runLibraryService(
  folder: string,
  file: string,
  url: string,
): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: url, FILE: 'app.db', NODE_NO_WARNINGS: '1' },
    timeout: 110_000,
  })
  return stdout
}
