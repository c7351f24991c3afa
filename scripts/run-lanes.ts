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
  },
})
const events = Number(values.events)
const lanes = Number(values.lanes)
/** One lane of so many has a head that is dead at its first attempt. */
const BROKEN_EVERY = 100
const BATCH = 500

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
  const seen = new Map<string, number>()
  let wrong = 0
  let done = 0
  inbox.events.on('event.done', () => (done += 1))
  const lane = (event: { payload: unknown }) => (event.payload as Sent).lane
  inbox.on('partner', '*', { order: { mode: 'fifo', lane } }, (event) => {
    const sent = event.payload as Sent
    if (isBroken(sent)) throw permanent('broken')
    // In a group that is rolled back and run again a handler sees its event twice.
    const last = seen.get(sent.lane) ?? -1
    if (sent.n !== last && sent.n !== last + 1) wrong += 1
    seen.set(sent.lane, sent.n)
  })
  const expected = countExpected()
  const startedAt = performance.now()
  await inbox.start()
  for (let last = -1; done < expected && done !== last;) {
    last = done
    await new Promise((resolve) => setTimeout(resolve, 5_000))
  }
  const seconds = (performance.now() - startedAt) / 1000
  console.log(
    `${store.engine}: ${events} events in ${lanes} lanes, ${Math.ceil(lanes / BROKEN_EVERY)} of them blocked by their head: ` +
      `${done} of ${expected} others done, ${wrong} out of order, ${Math.round(done / seconds)} events/s`,
  )
  await inbox.stop()
  if (wrong > 0 || done !== expected) process.exitCode = 1
}

interface Sent {
  readonly lane: string
  readonly n: number
}

function isBroken({ lane, n }: Sent): boolean {
  return n === 0 && Number(lane) % BROKEN_EVERY === 0
}

/** All events of lanes that are not blocked. */
function countExpected(): number {
  return Array.from({ length: events }, (_, at) => at % lanes).filter(
    (lane) => lane % BROKEN_EVERY !== 0,
  ).length
}

async function fill(store: Store<QueryTx>): Promise<void> {
  for (let from = 0; from < events; from += BATCH) {
    const drafts = Array.from({ length: Math.min(BATCH, events - from) }, (_, at) => {
      const body = JSON.stringify({
        lane: String((from + at) % lanes),
        n: Math.floor((from + at) / lanes),
      })
      return anEventDraft({ source: 'partner', type: 'changed', key: String(from + at), body })
    })
    await store.events.record(drafts, { deadlineMs: 60_000 })
  }
}
