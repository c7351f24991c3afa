/**
 * The service of `docs/guides/raw-bodies.md`, built by Next.js with either of its bundlers, and run; and that of
 * `docs/guides/serverless.md`, in which no worker is started.
 */

import fs from 'node:fs'
import path from 'node:path'
import Database from 'libsql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listBlocks } from '../docs/markdown.ts'
import { createFolder, deliver, runToEnd, startService } from './run-next.ts'

const ROOT = path.join(import.meta.dirname, '../..')
const CRON_SECRET = 'secret_of_the_cron_job'

describe('a function that Next.js builds', () => {
  test('runs its handler after its answer, and what is due for its cron job', async () => {
    const folder = createProject(listFunctions())
    const built = await runToEnd(folder, ['build', '--turbopack'])
    expect(built.output).toContain('/api/cron')
    expect(built.code).toBe(0)

    const url = await startService(folder, { CRON_SECRET })
    const { status } = await deliver(`${url}/webhooks/stripe`)

    expect(status).toBe(200)
    await untilPaid(folder)
    const callCron = (headers: Record<string, string>) => fetch(`${url}/api/cron`, { headers })
    expect((await callCron({})).status).toBe(401)
    const called = await callCron({ authorization: `Bearer ${CRON_SECRET}` })
    expect(called.status).toBe(200)
    expect(await called.json()).toMatchObject({ failed: 0, hasMore: false })
  })
})

test('a function in next dev has the handlers of the last edit', async () => {
  const functions = listFunctions()
  const folder = createProject(functions)
  const url = await startService(folder, { CRON_SECRET }, 'dev')
  await deliver(`${url}/webhooks/stripe`)
  await untilPaid(folder)

  const file = path.join(folder, 'lib/inbox.ts')
  const edited = (functions['lib/inbox.ts'] ?? '').replace(INVOICE, `'edited ' + ${INVOICE}`)
  fs.writeFileSync(file, edited)

  // Next.js notices the edit in its own time. What comes before that has the handler of before.
  const database = new Database(path.join(folder, 'hooks.db'))
  onTestFinished(() => void database.close())
  let nth = 1
  await expect
    .poll(
      async () => {
        nth += 1
        await deliver(`${url}/webhooks/stripe`, `evt_${nth}`)
        return listPaid(database)
      },
      { timeout: 120_000, interval: 1_000 },
    )
    .toContainEqual({ invoice: 'edited in_of_the_test' })
})

describe.each(['turbopack', 'webpack'])('a service that Next.js builds with %s', (bundler) => {
  test('takes a delivery in and runs its handler', async () => {
    const folder = createProject(listServed())
    // Without a secret, as where a build runs.
    const built = await runToEnd(folder, ['build', `--${bundler}`])
    expect(built.output).toContain('/webhooks/stripe')
    expect(built.code).toBe(0)

    const url = await startService(folder)
    const { status, body } = await deliver(`${url}/webhooks/stripe`)

    expect({ status, body }).toEqual({
      status: 200,
      body: { status: 'accepted', event: expect.any(String) as string },
    })
    await untilPaid(folder)
  })
})

/** Packages of the root are copied, since Turbopack follows no link that leads out of its root. */
function createProject(documented: Readonly<Record<string, string>>): string {
  const folder = createFolder()
  for (const name of ['libsql', '@libsql', '@neon-rs', 'detect-libc']) {
    const from = path.join(ROOT, 'node_modules', name)
    fs.cpSync(from, path.join(folder, 'node_modules', name), { recursive: true, dereference: true })
  }
  const files = {
    'next.config.mjs': `export default { turbopack: { root: ${JSON.stringify(import.meta.dirname)} } }`,
    'app/layout.tsx': `export default function Layout({ children }: { children: React.ReactNode }) {
      return <html><body>{children}</body></html>
    }`,
    ...documented,
  }
  for (const [file, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    fs.writeFileSync(path.join(folder, file), text)
  }
  return folder
}

/** A worker runs in the process of Next.js. */
function listServed(): Record<string, string> {
  const files = listDocumented('docs/guides/raw-bodies.md', 'Next\\.js')
  expect(Object.keys(files)).toEqual([
    'lib/inbox.ts',
    'app/webhooks/stripe/route.ts',
    'instrumentation.ts',
  ])
  return files
}

/** No worker is started: what is due runs after an answer, and when a cron job calls. */
function listFunctions(): Record<string, string> {
  const files = listDocumented('docs/guides/serverless.md')
  expect(Object.keys(files)).toEqual([
    'lib/inbox.ts',
    'app/webhooks/stripe/route.ts',
    'app/api/cron/route.ts',
  ])
  return { ...files, 'lib/inbox.ts': onSqlite(files['lib/inbox.ts'] ?? '') }
}

/** The page's own is on PostgreSQL, where test/docs/serverless.test.ts runs it. */
function onSqlite(code: string): string {
  const changed = code
    .replace(/^import pg from 'pg'\n/m, '')
    .replace(/^ *const pool = .*\n/m, '')
    .replace("{ postgresStore } from 'hookonce/postgres'", "{ sqliteStore } from 'hookonce/sqlite'")
    .replace(/postgresStore\(.*\)/, "sqliteStore('hooks.db')")
    .replace(/await tx\.query\('update .*/, WRITE_PAID)
  expect(changed).not.toMatch(/pg|postgres|update/)
  return changed
}

const INVOICE = "event.payload.data.object['id']"
const WRITE_PAID = `await tx.query('create table if not exists paid (invoice text)')
    await tx.query('insert into paid values ($1)', [${INVOICE}])`

/** The files of a page, or of one section, each named in its first line. */
function listDocumented(page: string, title?: string): Record<string, string> {
  const text = fs.readFileSync(path.join(ROOT, page), 'utf8')
  const section =
    title === undefined
      ? text
      : (new RegExp(`^## ${title}\\n.*?(?=^## )`, 'ms').exec(text)?.[0] ?? '')
  const files = listBlocks({ name: page, text: section }).flatMap(({ code }) => {
    const name = /^\/\/ (\S+\.tsx?)\n/.exec(code)?.[1]
    return name === undefined ? [] : [[name, code] as const]
  })
  return Object.fromEntries(files)
}

/** Until the handler has written its one row. */
async function untilPaid(folder: string): Promise<void> {
  const database = new Database(path.join(folder, 'hooks.db'))
  onTestFinished(() => void database.close())
  await expect
    .poll(() => listPaid(database), { timeout: 60_000 })
    .toEqual([{ invoice: 'in_of_the_test' }])
}

function listPaid(database: Database.Database): unknown {
  try {
    return database
      .prepare('select invoice from paid')
      .all()
      .map((row) => ({ invoice: (row as { invoice: unknown }).invoice }))
  } catch {
    return []
  }
}
