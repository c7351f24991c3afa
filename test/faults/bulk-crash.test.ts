/**
 * Actions on many events, by processes that are killed: each event is acted on once.
 *
 * Every event that was retried fails again at once, so that one that is retried a second time has a third attempt. Every
 * event that was replayed is done again at once, so that one that is replayed a second time has a third run.
 */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createBulkOperator } from '../../src/admin/bulk-operator.ts'
import type { BulkPlan } from '../../src/admin/bulk-operator.ts'
import { BulkRunner } from '../../src/admin/bulk-runner.ts'
import type { Settlement } from '../../src/model/outcome.ts'
import type { ClaimedEvent } from '../../src/store/contract/claimed-event.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { aClaim, anEventDraft } from '../support/builders.ts'
import { copyEvent } from '../support/copy-event.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { dead, done, recordOne, runOne } from '../support/store-steps.ts'
import type { QueryTx } from '../support/store-under-test.ts'

/** `HOOKONCE_BULK_EVENTS=10000` for the size of the fault list. */
const EVENTS = Number(process.env['HOOKONCE_BULK_EVENTS'] ?? 120)
const LIMIT_MS = 1_800_000

const RETRY: Subject = { plan: { action: 'retry', filter: {} }, end: dead, table: 'attempts' }
const REPLAY: Subject = {
  plan: { action: 'replay', filter: {}, reason: 'rows were lost', onlyIfNotApplied: false },
  end: done,
  table: 'outcomes',
}

describe.each(ENGINES)('a bulk on %s', (engine) => {
  let processes: SubjectPool
  beforeAll(() => {
    processes = new SubjectPool('bulk', 1)
  })
  afterAll(() => processes.close())

  test.each([RETRY, REPLAY])(
    'Y04, D15: whose processes are killed halfway gives each event exactly one new run, and one row in the audit: $plan.action',
    { timeout: LIMIT_MS },
    async ({ plan, end, table }) => {
      const database = await createFaultDatabase(engine)
      const store = await openStoreOn(database)
      await fill(database, store, end)
      const bulk = createBulkOperator(
        (act) => act(store),
        new BulkRunner(),
        () => undefined,
      )
      const { id, count } = await bulk.plan(plan)
      expect(count).toBe(EVENTS)

      // Half of the events, in a handful of processes: a different statement is the last of each.
      const kills = 6
      for (let nth = 1; nth <= kills; nth += 1) {
        const victim = processes.take()
        const at = Math.ceil(EVENTS / kills) * STATEMENTS_OF_AN_EVENT * 0.5 + nth
        await victim.arm({ matches: 'bulk_events', at: Math.ceil(at), then: 'kill' })
        await victim.begin({ store: database.store, bulk: { id, ratePerSecond: 10_000 } })
        expect(await victim.gone).toMatchObject({ signal: 'SIGKILL' })
        await endAll(store, end)
      }
      const halfway = await bulk.find(id)
      expect(halfway?.done).toBeGreaterThan(0)
      expect(halfway?.left).toBeGreaterThan(0)
      // A process that was killed has left no event with a new run and without its row, or the other way round.
      const acted = (await countBy(table, database))[2] ?? 0
      expect(await countAudited(plan.action, database)).toBe(acted)

      const run = await bulk.run(id, { ratePerSecond: 10_000 })
      if (run.status === 'done') await run.ended
      await endAll(store, end)

      expect(await bulk.find(id)).toMatchObject({ done: EVENTS, refused: {}, left: 0 })
      expect(await countBy(table, database)).toEqual({ 2: EVENTS })
      expect(await countAudited(plan.action, database)).toBe(EVENTS)
    },
  )
})

/** One is taken, and what became of it is noted; each is seen before and after it is sent. */
const STATEMENTS_OF_AN_EVENT = 4

/** For the length of the running test. */
async function openStoreOn({ store: config }: FaultDatabase): Promise<Store<QueryTx>> {
  const pool = config.engine === 'postgres' ? new pg.Pool(config.connection) : undefined
  const store =
    config.engine === 'postgres'
      ? postgresStore({ pool: pool as pg.Pool })
      : (sqliteStore(config.file, { driver: 'libsql' }) as unknown as Store<QueryTx>)
  await store.open()
  onTestFinished(async () => {
    await store.close()
    await pool?.end()
  })
  return store
}

interface Subject {
  readonly plan: BulkPlan
  /** How every run of an event ends. */
  readonly end: (event: ClaimedEvent) => Settlement
  /** Has a row for each of them. */
  readonly table: 'attempts' | 'outcomes'
}

async function fill(
  database: FaultDatabase,
  store: Store<QueryTx>,
  end: Subject['end'],
): Promise<void> {
  await recordOne(store, anEventDraft())
  const eventId = await runOne(store, end)
  await copyEvent(database, { engine: database.engine, eventId, count: EVENTS - 1 })
}

/** Runs what is due. */
async function endAll(store: Store<QueryTx>, end: Subject['end']): Promise<void> {
  for (;;) {
    const group = await store.queue.claim(aClaim({ limit: 100 }))
    if (group === undefined) return
    await group.settle(group.events.map(end))
    expect(await group.commit()).toEqual({ status: 'committed' })
  }
}

/** How many events the audit says this was done to. */
async function countAudited(action: string, database: FaultDatabase): Promise<number> {
  const tables = database.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  const [row] = await database.query(
    `select count(*) as found from ${tables}audit where action = '${action}' and subject_kind = 'event'`,
  )
  return Number(row?.['found'])
}

/** How many events have so many rows. */
async function countBy(
  table: Subject['table'],
  database: FaultDatabase,
): Promise<Record<string, number>> {
  const tables = database.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  const rows = await database.query(
    `select of_event, count(*) as found
       from (select event_id, count(*) as of_event from ${tables}${table} group by event_id) counted
      group by of_event`,
  )
  return Object.fromEntries(rows.map((row) => [String(row['of_event']), Number(row['found'])]))
}
