/**
 * Runs many events in many lanes, some of whose heads are dead, and says whether each lane was in order and whether
 * any other lane waited.
 *
 *     npx tsx scripts/run-lanes.ts --store postgres --events 100000 --lanes 10000
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { createInbox } from '../src/inbox/inbox.ts'
import { permanent } from '../src/model/handler-results.ts'
import { hmac } from '../src/providers/hmac.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/contract/store.ts'
import { anEventDraft } from '../test/support/builders.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import type { QueryTx } from '../test/support/store-under-test.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    events: { type: 'string', default: '100000' },
    lanes: { type: 'string', default: '10000' },
    'broken-every': { type: 'string', default: '100' },
  },
})
const events = Number(values.events)
const lanes = Number(values.lanes)
/** One lane of so many has a head that is dead at its first attempt; none with 0. */
const brokenEvery = Number(values['broken-every'])
const BATCH = 500
/** Without anything done for so long it is taken to stand still. */
const STUCK_MS = 30_000

await main()

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-lanes-'))
  const server = values.store === 'postgres' ? await startPostgres() : undefined
  const pool = server && new pg.Pool({ ...server.config, max: 12 })
  try {
    const store = pool ? postgresStore({ pool }) : sqliteStore(join(folder, 'lanes.db'))
    await run(store)
  } finally {
    await pool?.end()
    await server?.dispose()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function run(store: Store<QueryTx>): Promise<void> {
  const source = hmac({
    header: 'x-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    secrets: ['a secret of more than sixteen bytes'],
    key: 'json:$.id',
  })
  const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const inbox = createInbox({ store, sources: { partner: source }, logger: quiet })
  // A process that reads before the first event opens the store.
  await inbox.admin.countEvents()
  await fill(store)
  const last = new Map<number, number>()
  let wrong = 0
  let done = 0
  let doneAt = performance.now()
  // Told after each COMMIT, in the order in which they ran.
  inbox.events.on('event.done', ({ key }) => {
    const { lane, n } = placeOf(Number(key))
    if (n !== (last.get(lane) ?? -1) + 1) wrong += 1
    last.set(lane, n)
    done += 1
    doneAt = performance.now()
  })
  const lane = (event: { payload: unknown }) => (event.payload as Sent).lane
  inbox.on('partner', '*', { order: { mode: 'fifo', lane } }, (event) => {
    const sent = event.payload as Sent
    if (isBroken(sent)) throw permanent('broken')
  })
  const expected = countExpected()
  const startedAt = performance.now()
  await inbox.start()
  while (done < expected && performance.now() - doneAt < STUCK_MS)
    await new Promise((resolve) => setTimeout(resolve, 100))
  const seconds = (doneAt - startedAt) / 1000
  console.log(
    `${store.engine}: ${events} events in ${lanes} lanes, ${countBlocked()} of them blocked by their head: ` +
      `${done} of ${expected} others done, ${wrong} out of order, ${Math.round(done / seconds)} events/s`,
  )
  await inbox.stop()
  if (wrong > 0 || done !== expected) process.exitCode = 1
}

interface Sent {
  readonly lane: string
  readonly n: number
}

function placeOf(at: number): { readonly lane: number; readonly n: number } {
  return { lane: at % lanes, n: Math.floor(at / lanes) }
}

function isBroken({ lane, n }: Sent): boolean {
  return n === 0 && isBlocked(Number(lane))
}

function countBlocked(): number {
  return Array.from({ length: lanes }, (_, lane) => lane).filter(isBlocked).length
}

function isBlocked(lane: number): boolean {
  return brokenEvery > 0 && lane % brokenEvery === 0
}

/** All events of lanes that are not blocked. */
function countExpected(): number {
  return Array.from({ length: events }, (_, at) => at % lanes).filter((lane) => !isBlocked(lane))
    .length
}

async function fill(store: Store<QueryTx>): Promise<void> {
  for (let from = 0; from < events; from += BATCH) {
    const drafts = Array.from({ length: Math.min(BATCH, events - from) }, (_, at) => {
      const { lane, n } = placeOf(from + at)
      const body = JSON.stringify({ lane: String(lane), n })
      return anEventDraft({ source: 'partner', type: 'changed', key: String(from + at), body })
    })
    await store.events.record(drafts, { deadlineMs: 60_000 })
  }
}
