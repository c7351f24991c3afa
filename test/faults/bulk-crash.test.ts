/**
 * Actions on many events, by processes that are killed: each event is acted on once.
 *
 * Every event or message that was retried fails again at once, so that one that is retried a second time has a third
 * attempt. Every event that was replayed is done again at once, so that one that is replayed a second time has a third run.
 */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createBulkOperator } from '../../src/admin/bulk-operator.ts'

import { BulkRunner } from '../../src/admin/bulk-runner.ts'
import type { BulkPlan, MessageBulkPlan } from '../../src/admin/plan-bulk.ts'
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
import { RUNS_ALL } from '../support/slow-tests.ts'
import { claimMessages, deadMessage, enqueue } from '../support/outbox-steps.ts'
import { dead, done, recordOne, runOne } from '../support/store-steps.ts'
import type { QueryTx } from '../support/store-under-test.ts'

/** `npm run test:all` has the size of the fault list. */
const EVENTS = Number(process.env['HOOKONCE_BULK_EVENTS'] ?? (RUNS_ALL ? 10_000 : 120))
const LIMIT_MS = 1_800_000

const RETRY: Subject = {
  plan: { action: 'retry', filter: {} },
  ...eventsThat(dead),
  of: 'event',
  table: 'attempts',
}
const REPLAY: Subject = {
  plan: { action: 'replay', filter: {}, reason: 'rows were lost', onlyIfNotApplied: false },
  ...eventsThat(done),
  of: 'event',
  table: 'outcomes',
}
const SEND: Subject = {
  plan: { action: 'retryMessage', filter: { destination: 'receipts' } },
  fill: async (_database, store) => {
    await enqueue(store, ...Array.from({ length: EVENTS }, (_, nth) => ({ key: `key_${nth}` })))
    await endMessages(store)
  },
  endAll: endMessages,
  of: 'message',
  table: 'message_attempts',
}

describe.each(ENGINES)('a bulk on %s', (engine) => {
  let processes: SubjectPool
  beforeAll(() => {
    processes = new SubjectPool('bulk', 1)
  })
  afterAll(() => processes.close())

  test.each([RETRY, REPLAY, SEND])(
    'Y04, D15: whose processes are killed halfway gives each event or message exactly one new run, and one row in the audit: $plan.action',
    { timeout: LIMIT_MS },
    async (subject) => {
      const { plan, fill, endAll } = subject
      const database = await createFaultDatabase(engine)
      const store = await openStoreOn(database)
      await fill(database, store)
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
        await endAll(store)
      }
      const halfway = await bulk.find(id)
      expect(halfway?.done).toBeGreaterThan(0)
      expect(halfway?.left).toBeGreaterThan(0)
      // A process that was killed has left no event with a new run and without its row, or the other way round.
      const acted = (await countBy(subject, database))[2] ?? 0
      expect(await countAudited(subject, database)).toBe(acted)

      const run = await bulk.run(id, { ratePerSecond: 10_000 })
      if (run.status === 'done') await run.ended
      await endAll(store)

      expect(await bulk.find(id)).toMatchObject({ done: EVENTS, refused: {}, left: 0 })
      expect(await countBy(subject, database)).toEqual({ 2: EVENTS })
      expect(await countAudited(subject, database)).toBe(EVENTS)
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
  readonly plan: BulkPlan | MessageBulkPlan
  /** Writes them, each of which has come to an end once. */
  readonly fill: (database: FaultDatabase, store: Store<QueryTx>) => Promise<void>
  /** Lets those that are due come to an end again. */
  readonly endAll: (store: Store<QueryTx>) => Promise<void>
  readonly of: 'event' | 'message'
  /** Has a row for each time that one of them came to an end. */
  readonly table: 'attempts' | 'outcomes' | 'message_attempts'
}

/** `end` says how every run of an event ends. */
function eventsThat(end: (event: ClaimedEvent) => Settlement): Pick<Subject, 'fill' | 'endAll'> {
  return {
    fill: async (database, store) => {
      await recordOne(store, anEventDraft())
      const eventId = await runOne(store, end)
      await copyEvent(database, { engine: database.engine, eventId, count: EVENTS - 1 })
    },
    endAll: async (store) => {
      for (;;) {
        const group = await store.queue.claim(aClaim({ limit: 100 }))
        if (group === undefined) return
        await group.settle(group.events.map(end))
        expect(await group.commit()).toEqual({ status: 'committed' })
      }
    },
  }
}

async function endMessages(store: Store<QueryTx>): Promise<void> {
  for (;;) {
    const claimed = await claimMessages(store, { limit: 100 })
    if (claimed.length === 0) return
    await store.messages.settle(claimed.map((message) => deadMessage(message)))
  }
}

/** How many of them the audit says this was done to. */
async function countAudited({ plan, of }: Subject, database: FaultDatabase): Promise<number> {
  const tables = database.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  const [row] = await database.query(
    `select count(*) as found from ${tables}audit where action = '${plan.action}' and subject_kind = '${of}'`,
  )
  return Number(row?.['found'])
}

/** How many of them have so many rows. */
async function countBy(
  { table, of }: Subject,
  database: FaultDatabase,
): Promise<Record<string, number>> {
  const tables = database.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  const rows = await database.query(
    `select of_one, count(*) as found
       from (select ${of}_id, count(*) as of_one from ${tables}${table} group by ${of}_id) counted
      group by of_one`,
  )
  return Object.fromEntries(rows.map((row) => [String(row['of_one']), Number(row['found'])]))
}
