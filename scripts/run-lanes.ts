/**
 * Runs many events in many lanes, some of whose heads are dead or fail for a while, and says whether each lane was in
 * order and whether any other lane waited for them.
 *
 *     npx tsx scripts/run-lanes.ts --store postgres --events 100000 --lanes 10000
 *     npx tsx scripts/run-lanes.ts --store postgres --heads fail --steps --workers 3
 *
 * With `--keep` what came of it is kept in `bench/results`. A lane has waited for others when more events were done between two of its own than a few rounds over all lanes.
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
import { keepMeasured } from './keep-measured.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    events: { type: 'string', default: '100000' },
    lanes: { type: 'string', default: '10000' },
    'broken-every': { type: 'string', default: '100' },
    heads: { type: 'string', default: 'dead' },
    steps: { type: 'boolean', default: false },
    workers: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
  },
})
const events = Number(values.events)
const lanes = Number(values.lanes)
/** One lane of so many has a head that is dead at its first attempt, or fails at its first three; none with 0. */
const brokenEvery = Number(values['broken-every'])
const headsFail = values.heads === 'fail'
const FAILS = 3
/** Long enough that the other lanes go on meanwhile, and short enough to see what comes behind. */
const RETRY = { attemptsMax: FAILS + 1, firstMs: 1_000, factor: 2 }
/** A fair round is one event of each lane. */
const ROUNDS_MAX = 5
const BATCH = 500
/** Without anything done for so long it is taken to stand still. */
const STUCK_MS = 30_000

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-lanes-'))
  const server = values.store === 'postgres' ? await startPostgres() : undefined
  const pool = server && new pg.Pool({ ...server.config, max: 12 * Number(values.workers) })
  const newStore = (): Store<QueryTx> =>
    pool ? postgresStore({ pool }) : sqliteStore(join(folder, 'lanes.db'))
  try {
    await run(newStore)
  } finally {
    await pool?.end()
    await server?.dispose()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function run(newStore: () => Store<QueryTx>): Promise<void> {
  const first = newStore()
  await first.open()
  await fill(first)
  const progress = new Progress()
  const inboxes = Array.from({ length: Number(values.workers) }, () =>
    createWorker(newStore(), progress),
  )
  const expected = countExpected()
  const startedAt = performance.now()
  await Promise.all(inboxes.map((inbox) => inbox.start()))
  while (progress.done < expected && performance.now() - progress.doneAt < STUCK_MS)
    await new Promise((resolve) => setTimeout(resolve, 100))
  await Promise.all(inboxes.map((inbox) => inbox.stop()))
  await first.close()

  const { done, doneAt, wrong, longestWait } = progress
  const free = lanes - countBlocked()
  const became = headsFail ? `failed ${FAILS} times` : 'dead'
  const perSecond = Math.round(done / ((doneAt - startedAt) / 1_000))
  const title = `${events} events in ${lanes} lanes, the heads of ${countBlocked()} ${became}`
  const detail =
    `${done} of ${expected} others done, ${wrong} out of order, ` +
    `at most ${longestWait} done between two of a lane (${free} lanes), ${perSecond} events/s`
  console.log(`${first.engine}: ${title}: ${detail}`)
  const isOk = wrong === 0 && done === expected && longestWait <= ROUNDS_MAX * free
  if (!isOk) process.exitCode = 1
  if (!values.keep) return
  const kind = [headsFail ? 'fail' : '', values.steps ? 'steps' : '', values.workers]
  keepMeasured({
    id: ['lanes', first.engine, ...kind.filter((word) => !['', '1'].includes(word))].join('-'),
    title: `${title}, on ${first.engine}`,
    checks: [{ name: 'each lane in order, and none waits for another', isOk, detail }],
    measured: { done, expected, wrong, longestWait, free, perSecond },
  })
}

/** What was done so far, told after each COMMIT in the order in which they ran. */
class Progress {
  done = 0
  doneAt = performance.now()
  wrong = 0
  /** How many events of all lanes were done between two of a lane whose head is as it should be. */
  longestWait = 0
  readonly #last = new Map<number, { readonly n: number; readonly nth: number }>()

  add(key: string): void {
    const { lane, n } = placeOf(Number(key))
    const last = this.#last.get(lane)
    if (n !== (last?.n ?? -1) + 1) this.wrong += 1
    this.done += 1
    this.doneAt = performance.now()
    if (!isBlocked(lane))
      this.longestWait = Math.max(this.longestWait, this.done - (last?.nth ?? 0))
    this.#last.set(lane, { n, nth: this.done })
  }
}

function createWorker(store: Store<QueryTx>, progress: Progress) {
  const source = hmac({
    header: 'x-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    secrets: ['a secret of more than sixteen bytes'],
    key: 'json:$.id',
  })
  const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const inbox = createInbox({ store, sources: { partner: source }, logger: quiet })
  inbox.events.on('event.done', ({ key }) => progress.add(key))
  const lane = (event: { payload: unknown }) => (event.payload as Sent).lane
  const options = { order: { mode: 'fifo', lane }, retry: RETRY } as const
  if (values.steps) {
    inbox.steps('partner', '*', options, async (event, step) => {
      await step.tx('write', () => breakHead(event.payload as Sent, step.attempt))
    })
  } else {
    inbox.on('partner', '*', options, (event, { attempt }) =>
      breakHead(event.payload as Sent, attempt),
    )
  }
  return inbox
}

function breakHead(sent: Sent, attempt: number): void {
  if (!isBroken(sent)) return
  if (!headsFail) throw permanent('broken')
  if (attempt <= FAILS) throw new Error('not yet')
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

/** All events of lanes that are not blocked for good. */
function countExpected(): number {
  if (headsFail) return events
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

await main()
