import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { createSqlite } from '../support/sqlite-database.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'

const blocks = assembleSnippets(listBlocks(readPage('docs/guides/brokers.md')))

export const DEATHS = ['before COMMIT', 'after COMMIT'] as const

/** Runs the block of the page that exports `name` in a process that dies there, and then in one that lives. */
export async function consumeTwice(
  name: string,
  { dies, env, consume }: { dies: string; env: Record<string, string>; consume: string },
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-brokers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { file, query, close } = await createSqlite({ folder })
  onTestFinished(close)
  await query('create table shipments (order_id text)')
  const block = blocks.find(({ code }) => code.includes(`export async function ${name}(`))
  const code = `${block?.code ?? ''}\n${HARNESS}\n${consume}`

  const killed = await runSnippet({ code }, { ...env, APP_DB: file, DIES: dies })
  expect(killed).toMatchObject({ code: -1 })
  expect(await count(query)).toBe(dies === 'before COMMIT' ? 0 : 1)
  expect(await runSnippet({ code }, { ...env, APP_DB: file, DIES: '' })).toEqual({
    code: 0,
    stderr: '',
  })
  return count(query)
}

async function count(query: (sql: string) => Promise<Record<string, unknown>[]>): Promise<number> {
  return Number((await query('select count(*) as found from shipments'))[0]?.['found'])
}

/** An inbox on a file, Kysely on the same file, and a statement or an acknowledgement at which the process dies. */
const HARNESS = `
import { createInbox } from 'hookonce'
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
globalThis.db = new KyselyOf({ dialect: new SqliteDialect({ database: passing }) })
const app = createInbox({
  store: sqliteStore(process.env.APP_DB, { driver: 'libsql' }),
  sources: {},
  worker: false,
})
globalThis.inbox = app
await app.start()
`
