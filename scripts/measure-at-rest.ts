/**
 * Measures what an answer, a duplicate and a claim cost beside events that are at rest, half of them parked and half of
 * them dead, against a database without any, in turns. Of many rounds the fastest tenth, which is what it costs without
 * what else the machine did, and the ratio of the two.
 *
 *     npx tsx scripts/measure-at-rest.ts --store postgres --parked 100000 --dead 100000
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
import type { Settlement } from '../src/model/outcome.ts'
import type { ClaimedEvent } from '../src/store/contract/claimed-event.ts'
import type { Store } from '../src/store/contract/store.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { aClaim, anEventDraft } from '../test/support/builders.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import { dead, done, recordOne, runOne, unhandled } from '../test/support/store-steps.ts'
import type { QueryTx } from '../test/support/store-under-test.ts'
import { keepMeasured } from './keep-measured.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    parked: { type: 'string', default: '100000' },
    dead: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '300' },
    keep: { type: 'boolean', default: false },
  },
})
const BATCH = 500

await main()

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-at-rest-'))
  const server = values.store === 'postgres' ? await startPostgres() : undefined
  const pool = server && new pg.Pool({ ...server.config, max: 8 })
  // Two schemas of one database, or two files in one folder.
  const open = (name: string): Store<QueryTx> =>
    pool ? postgresStore({ pool, schema: name }) : sqliteStore(join(folder, `${name}.db`))
  const without = open('without')
  const beside = open('beside')
  try {
    await without.open()
    await beside.open()
    await addResting(beside, 'parked', unhandled)
    await addResting(beside, 'dead', dead)
    await compare(without, beside)
  } finally {
    await without.close()
    await beside.close()
    await pool?.end()
    await server?.dispose()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As they come to rest in production: stored, claimed and settled. */
async function addResting(
  store: Store<QueryTx>,
  state: 'parked' | 'dead',
  end: (event: ClaimedEvent) => Settlement,
): Promise<void> {
  const count = Number(values[state])
  for (let at = 0; at < count; at += BATCH) {
    const drafts = Array.from({ length: Math.min(BATCH, count - at) }, (_, nth) =>
      anEventDraft({ key: `${state} ${at + nth}` }),
    )
    await store.events.record(drafts, { deadlineMs: 60_000 })
    for (let left = drafts.length; left > 0;) {
      const group = await store.queue.claim(aClaim({ limit: BATCH }))
      if (group === undefined) throw new Error('What was stored is not to be had')
      await group.settle(group.events.map(end))
      await group.commit()
      left -= group.events.length
    }
  }
}

type Part = 'answer' | 'duplicate' | 'claim'
type Times = Record<Part, number[]>

async function compare(without: Store<QueryTx>, beside: Store<QueryTx>): Promise<void> {
  const times = { without: newTimes(), beside: newTimes() }
  const rounds = Number(values.rounds)
  for (let round = -BATCH / 10; round < rounds; round += 1) {
    // The first are for what is compiled and cached.
    const into = round < 0 ? { without: newTimes(), beside: newTimes() } : times
    await measure(without, round, into.without)
    await measure(beside, round, into.beside)
  }
  const fastestMs = { without: fastestOf(times.without), beside: fastestOf(times.beside) }
  const ratioOf = (part: Part) => rounded(fastestMs.beside[part] / fastestMs.without[part])
  const ratio = {
    answer: ratioOf('answer'),
    duplicate: ratioOf('duplicate'),
    claim: ratioOf('claim'),
  }
  const { parked, dead: buried } = values
  const measured = { store: without.engine, parked, dead: buried, rounds, fastestMs, ratio }
  const detail = JSON.stringify(measured)
  console.log(detail)
  if (!values.keep) return
  keepMeasured({
    id: `at-rest-${without.engine}`,
    title: `What an answer, a duplicate and a claim cost beside ${parked} parked and ${buried} dead events, on ${without.engine}`,
    checks: [{ name: 'measured', isOk: true, detail }],
    measured,
  })
}

async function measure(store: Store<QueryTx>, round: number, times: Times): Promise<void> {
  const time = async (part: Part, work: () => Promise<unknown>) => {
    const startedAt = performance.now()
    await work()
    times[part].push(performance.now() - startedAt)
  }
  const draft = anEventDraft({ key: `round ${round}` })
  await time('answer', () => recordOne(store, draft))
  await time('duplicate', () => recordOne(store, draft))
  await time('claim', () => runOne(store, done))
}

function newTimes(): Times {
  return { answer: [], duplicate: [], claim: [] }
}

function fastestOf({ answer, duplicate, claim }: Times): Record<Part, number> {
  return { answer: fastest(answer), duplicate: fastest(duplicate), claim: fastest(claim) }
}

/** What a tenth of them stay below. */
function fastest(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other)
  return rounded(sorted[Math.floor(sorted.length / 10)] ?? 0)
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
