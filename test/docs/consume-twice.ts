import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { createSqlite } from '../support/sqlite-database.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'
import { startDatabase } from './start-database.ts'

const blocks = assembleSnippets(listBlocks(readPage('docs/guides/brokers.md')))

export const DEATHS = ['before COMMIT', 'after COMMIT'] as const

const SHIPMENTS = 'create table shipments (order_id text)'

/** Runs the block of the page that exports `name` in a process that dies there, and then in one that lives. */
export async function consumeTwice(
  name: string,
  {
    dies,
    env,
    consume,
    engine = 'sqlite',
  }: {
    readonly dies: string
    readonly env: Readonly<Record<string, string>>
    readonly consume: string
    readonly engine?: 'sqlite' | 'postgres'
  },
): Promise<number> {
  const { where, query } = await (engine === 'sqlite' ? onSqlite() : onPostgres())
  const count = async () =>
    Number((await query('select count(*) as found from shipments'))[0]?.['found'])
  const code = writeConsumer(name, { consume, engine })

  const killed = await runSnippet({ code }, { ...env, APP_DB: where, DIES: dies })
  expect(killed).toMatchObject({ code: -1 })
  expect(await count()).toBe(dies === 'before COMMIT' ? 0 : 1)
  expect(await runSnippet({ code }, { ...env, APP_DB: where, DIES: '' })).toEqual({
    code: 0,
    stderr: '',
  })
  return count()
}

/** Runs the block once, in a process that lives to its end: the shipments that were written. */
export async function consumeAll(
  name: string,
  { env, consume }: { readonly env: Readonly<Record<string, string>>; readonly consume: string },
): Promise<unknown[]> {
  const { where, query } = await onSqlite()
  const code = writeConsumer(name, { consume, engine: 'sqlite' })
  const run = await runSnippet({ code }, { ...env, APP_DB: where, DIES: '' })
  expect(run, run.stderr).toMatchObject({ code: 0 })
  return (await query('select order_id from shipments')).map((row) => row['order_id'])
}

function writeConsumer(
  name: string,
  { consume, engine }: { readonly consume: string; readonly engine: keyof typeof HARNESS },
): string {
  const block = blocks.find(({ code }) => code.includes(`export async function ${name}(`))
  return [block?.code, HARNESS[engine], SERVE, consume].join('\n')
}

interface ConsumerDatabase {
  readonly where: string
  readonly query: (sql: string) => Promise<Record<string, unknown>[]>
}

async function onSqlite(): Promise<ConsumerDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-brokers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { file, query, close } = await createSqlite({ folder })
  onTestFinished(close)
  await query(SHIPMENTS)
  return { where: file, query }
}

async function onPostgres(): Promise<ConsumerDatabase> {
  const { url, query } = await startDatabase([SHIPMENTS])
  return { where: url, query }
}

/** A store, and Kysely on the same database with a COMMIT at which the process dies. */
const HARNESS = {
  sqlite: `
import { sqliteStore } from 'hookonce/sqlite'
import Database from 'libsql'
import { Kysely as KyselyOf, SqliteDialect } from 'kysely'

const own = new Database(process.env.APP_DB)
const die = (point) => process.env.DIES === point && process.kill(process.pid, 'SIGKILL')
const passing = {
  prepare: (sql) => {
    if (sql === 'commit') die('before COMMIT')
    return own.prepare(sql)
  },
  close: () => own.close(),
}
const dialect = new SqliteDialect({ database: passing })
const store = sqliteStore(process.env.APP_DB, { driver: 'libsql' })
const endPool = () => undefined
`,
  postgres: `
import { postgresStore } from 'hookonce/postgres'
import { Kysely as KyselyOf, PostgresDialect } from 'kysely'
import pg from 'pg'

const die = (point) => process.env.DIES === point && process.kill(process.pid, 'SIGKILL')
class PassingClient extends pg.Client {
  query(...args) {
    if ((args[0]?.text ?? args[0]) === 'commit') die('before COMMIT')
    return super.query(...args)
  }
}
const connectionString = process.env.APP_DB
const own = new pg.Pool({ connectionString, Client: PassingClient })
const pool = new pg.Pool({ connectionString })
const dialect = new PostgresDialect({ pool: own })
const store = postgresStore({ pool })
const endPool = () => Promise.all([own.end(), pool.end()])
`,
} as const

const SERVE = `
import { createInbox } from 'hookonce'

globalThis.db = new KyselyOf({ dialect })
const inboxOfTheProcess = createInbox({ store, sources: {}, worker: false })
globalThis.inbox = inboxOfTheProcess
const app = {
  stop: async () => {
    await inboxOfTheProcess.stop()
    await endPool()
  },
}
await inboxOfTheProcess.start()
`
