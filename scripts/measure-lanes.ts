/**
 * Measures what an answer, sorting and a claim cost beside lanes that are blocked: each has a dead head, and an event
 * that waits behind it. Of many rounds the fastest tenth, which is what it costs without what else the machine did; and
 * as a ratio to what it cost before there were any.
 *
 *     npx tsx scripts/measure-lanes.ts --store postgres --blocked 1000,10000,100000
 *
 * With `--keep` the figures are kept in `bench/results`.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import type { EventDraft } from '../src/model/event.ts'
import { laneIdOf } from '../src/ordering/lane-id.ts'
import type { ClaimedEvent } from '../src/store/contract/claimed-event.ts'
import type { Store } from '../src/store/contract/store.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { aClaim, anEventDraft } from '../test/support/builders.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import { dead, done, runOne } from '../test/support/store-steps.ts'
import type { QueryTx } from '../test/support/store-under-test.ts'
import { keepMeasured } from './keep-measured.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    blocked: { type: 'string', default: '1000,10000,100000' },
    keep: { type: 'boolean', default: false },
  },
})
const BATCH = 500
const ROUNDS = 300

await main()

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-lanes-'))
  const server = values.store === 'postgres' ? await startPostgres() : undefined
  const pool = server && new pg.Pool({ ...server.config, max: 4 })
  const store: Store<QueryTx> = pool
    ? postgresStore({ pool })
    : sqliteStore(join(folder, 'lanes.db'))
  try {
    await store.open()
    await run(store)
  } finally {
    await store.close()
    await pool?.end()
    await server?.dispose()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function run(store: Store<QueryTx>): Promise<void> {
  await measure(store, 'warm')
  const without = await measure(store, 'without')
  console.log(JSON.stringify({ store: store.engine, blocked: 0, fastestMs: without }))
  let blocked = 0
  const measured: object[] = [{ blocked, fastestMs: without }]
  for (const wanted of values.blocked.split(',').map(Number)) {
    await blockLanes(store, blocked, wanted)
    blocked = wanted
    const fastestMs = await measure(store, `beside ${blocked}`)
    const ratio = {
      answer: round(fastestMs.answer / without.answer),
      sort: round(fastestMs.sort / without.sort),
      claim: round(fastestMs.claim / without.claim),
    }
    console.log(JSON.stringify({ store: store.engine, blocked, fastestMs, ratio }))
    measured.push({ blocked, fastestMs, ratio })
  }
  if (!values.keep) return
  keepMeasured({
    id: `blocked-lanes-${store.engine}`,
    title: `What an answer, sorting and a claim cost beside lanes that are blocked, on ${store.engine}`,
    checks: measured.map((one) => ({ name: 'measured', isOk: true, detail: JSON.stringify(one) })),
    measured,
  })
}

interface Costs {
  readonly answer: number
  readonly sort: number
  readonly claim: number
}

/** Each in a lane of its own, which is free: what is blocked is beside it. */
async function measure(store: Store<QueryTx>, name: string): Promise<Costs> {
  const times = { answer: [] as number[], sort: [] as number[], claim: [] as number[] }
  const time = async (part: keyof Costs, work: () => Promise<unknown>) => {
    const startedAt = performance.now()
    await work()
    times[part].push(performance.now() - startedAt)
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const draft = anEventDraft({ key: `${name} ${round}` })
    await time('answer', () => record(store, [draft]))
    await time('sort', () => sort(store))
    await time('claim', () => runOne(store, done, { kind: 'head' }))
  }
  return { answer: fastest(times.answer), sort: fastest(times.sort), claim: fastest(times.claim) }
}

/** The events `a…` die, and the events `b…` wait behind them. */
async function blockLanes(store: Store<QueryTx>, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += BATCH) {
    const lanes = Array.from({ length: Math.min(BATCH, to - at) }, (_, n) => `lane ${at + n}`)
    await record(
      store,
      lanes.map((lane) => anEventDraft({ key: `a ${lane}` })),
    )
    await sort(store)
    await bury(store)
    await record(
      store,
      lanes.map((lane) => anEventDraft({ key: `b ${lane}` })),
    )
    await sort(store)
  }
}

async function record(store: Store<QueryTx>, drafts: readonly EventDraft[]): Promise<void> {
  await store.events.record(drafts, { deadlineMs: 60_000 })
}

async function sort(store: Store<QueryTx>): Promise<void> {
  const found = await store.lanes.listUnsorted('stripe')
  const topics = found.map(({ topic }) => topic)
  const request = { source: 'stripe', topics, limit: BATCH, also: [] }
  const events = await store.lanes.readUnsorted(request)
  const decided = events.map((event) => ({ event, becomes: placeOf(event) }))
  await store.lanes.sort({ ...request, unordered: [], decided })
}

function placeOf({ source, key }: ClaimedEvent) {
  const lane = key.replace(/^[ab] /, '')
  const id = laneIdOf(source, 'fifo', lane)
  return { lane: { id, source, mode: 'fifo', key: lane }, policy: 'block' } as const
}

async function bury(store: Store<QueryTx>): Promise<void> {
  for (;;) {
    const group = await store.queue.claim(aClaim({ kind: 'head', limit: BATCH }))
    if (group === undefined) return
    await group.settle(group.events.map(dead))
    await group.commit()
  }
}

/** What a tenth of them stay below. */
function fastest(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other)
  return round(sorted[Math.floor(sorted.length / 10)] ?? 0)
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
