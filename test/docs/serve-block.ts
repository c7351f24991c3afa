/**
 * Runs a block of a page that makes an inbox and registers handlers: a process of the reader's to which everything is
 * delivered twice.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { runSnippet } from './run-snippet.ts'
import type { SnippetHome } from './run-snippet.ts'
import { startDatabase } from './start-database.ts'

/** An event that a provider sends to the source of a block. */
export interface BlockDelivery {
  /** The source, `stripe` by default. */
  readonly source?: string
  /** The name of the source by default. */
  readonly provider?: string
  readonly type: string
  readonly key: string
  readonly body: object
  /** For a source of `hmac`: what the block gives it. */
  readonly hmac?: object
  /** What the event has to be at the end, `done` by default. */
  readonly state?: string
}

export interface ServedBlock {
  readonly code: string
  readonly engine: 'postgres' | 'sqlite'
  /** Statements that make the tables of the reader's. */
  readonly tables: readonly string[]
  readonly deliveries: readonly BlockDelivery[]
  /** Asked for when the process has ended. */
  readonly select: string
  /** The path of the SQLite file, `app.db` by default. */
  readonly file?: string
  /** Code that runs before the block, which is imported after it. */
  readonly before?: string
  /** Code that looks at what the process has, at its end. */
  readonly after?: string
  readonly home?: SnippetHome
}

/** Resolves to what `select` finds, once each event is what it has to be. */
export async function serveBlock(block: ServedBlock): Promise<readonly unknown[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-served-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { url, query } = await (block.engine === 'postgres'
    ? startDatabase(block.tables)
    : openFile(join(folder, block.file ?? 'app.db'), block.tables))
  const env = {
    DATABASE_URL: url,
    FOLDER: folder,
    STRIPE_WEBHOOK_SECRET: SECRET,
    GITHUB_WEBHOOK_SECRET: SECRET,
    GITHUB_SECRET: SECRET,
    PARTNER_SECRET: SECRET,
    SHOPIFY_SECRET: SECRET,
    DELIVERIES: JSON.stringify(block.deliveries),
  }
  const start = block.code.includes('inbox.start()') ? '' : 'await inbox.start()'
  const { before = '', after = '' } = block
  const parts = [ENTER, before, block.code, start, DELIVER, after, END]
  const code = parts.join('\n')

  const run = await runSnippet({ code }, env, block.home)
  expect(run, run.stderr).toMatchObject({ code: 0 })
  return query(block.select)
}

const SECRET = 'whsec_of_the_service_in_the_page'

async function openFile(file: string, tables: readonly string[]) {
  mkdirSync(dirname(file), { recursive: true })
  const handle = (await openDriver('libsql')).open(file)
  onTestFinished(() => handle.close())
  for (const table of tables) handle.execute(table)
  return { url: '', query: (sql: string) => Promise.resolve(handle.prepare(sql).query([]).rows) }
}

const ENTER = 'process.chdir(process.env.FOLDER)'

/** An attempt that has failed is looked at, and its next one is waited for by nothing: it may be hours away. */
const DELIVER = `
import { deepEqual as deepEqualOf } from 'node:assert/strict'
import { sign as signOf } from 'hookonce/testing'

const storedOfTheTest = []
for (const delivery of JSON.parse(process.env.DELIVERIES)) {
  const { source = 'stripe', provider = source, type, key, body, state = 'done', hmac } = delivery
  const credentials = hmac ?? { secret: process.env.STRIPE_WEBHOOK_SECRET }
  const given = signOf(hmac === undefined ? provider : 'hmac', { type, key, body }, credentials)
  const answers = []
  for (let time = 0; time < 2; time += 1) {
    const request = new Request('https://app.example/webhooks', {
      method: 'POST',
      headers: given.headers,
      body: given.body,
    })
    const response = await inbox.fetch(source)(request)
    answers.push(await response.json())
  }
  deepEqualOf(answers.map(({ status }) => status), ['accepted', 'duplicate'])
  storedOfTheTest.push({ id: answers[0].event, type, state })
}
for (const { id, type, state } of storedOfTheTest) {
  for (;;) {
    const event = await inbox.admin.findEvent(id)
    if (!['ready', 'running'].includes(event.state) || event.failures.length > 0) {
      deepEqualOf([type, event.state, state === 'done' ? event.failures : []], [type, state, []])
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
`

/** A block may have given its pools any name, so that they are left open. */
const END = `
await inbox.stop()
process.exit(0)
`
