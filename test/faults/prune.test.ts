/**
 * P05: `kill -9` at the decisive statements of a run of the pruner, and with `npm run test:all` at every one. What is left of it is taken up by the next run, and at
 * no moment is half of an event gone.
 */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { RETENTION_DEFAULTS } from '../../src/retention/options.ts'
import { prune } from '../../src/retention/prune.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { anEventDraft } from '../support/builders.ts'
import { expectDeathsAt } from '../support/faults/deaths.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { APART_FROM_EVENTS, killAtEveryBoundary } from '../support/faults/kill-at-every-boundary.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { createPostgres } from '../support/postgres/postgres-database.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import { createSettableClock, hasNoFaketime } from '../support/tools/wrong-clock.ts'
import { policyIn } from '../support/retention-steps.ts'
import { dead, done, recordOne, retryIn, runOne } from '../support/store-steps.ts'
import type { QueryTx } from '../support/store-under-test.ts'

const LIMIT_MS = 600_000

describe.each(ENGINES)('kill -9 of a pruner on %s', (engine) => {
  let pruners: SubjectPool
  beforeAll(() => {
    pruners = new SubjectPool('pruner', 2)
  })
  afterAll(() => pruners.close())

  test(
    'P05: leaves no half of an event, and the next run takes it up',
    { timeout: LIMIT_MS },
    async () => {
      const database = await createFaultDatabase(engine)
      const store = await openStore(database)
      await dropWeeksAhead(database)
      const policy = policyIn(100)
      const statements = engine === 'postgres' ? OF_POSTGRES : OF_SQLITE
      let started = 0

      const { deaths } = await killAtEveryBoundary({
        pool: pruners,
        config: { store: database.store, retention: policy },
        except: APART_FROM_EVENTS,
        decisive: [...statements, /commit/],
        prepare: async (n) => {
          started = n
          await recordOne(store, anEventDraft({ key: `done_${n}` }))
          await runOne(store, retryIn(0))
          await runOne(store, done, { kind: 'again' })
          if (n > 3) return
          await recordOne(store, anEventDraft({ key: `dead_${n}` }))
          await runOne(store, dead)
        },
        untilThrough: (victim) => victim.untilStarted(),
        afterDeath: async () => expect(await countHalves(database)).toBe(0),
      })

      expectDeathsAt(deaths, engine, statements)
      await prune({ store, policy }, FORCED)
      expect(await countHalves(database)).toBe(0)
      expect(await database.count('events')).toBe(3)
      expect(await database.count('outcomes')).toBe(3)
      for (const n of [1, 2, 3])
        expect(await recordOne(store, anEventDraft({ key: `dead_${n}` }))).toMatchObject({
          status: 'revived',
        })
      expect(await recordOne(store, anEventDraft({ key: `done_${started}` }))).toMatchObject({
        status: 'accepted',
      })
    },
  )
})

describe('P07: with a clock that jumps sixty days ahead', () => {
  test.skipIf(hasNoFaketime || hasNoBinaries)(
    'a run removes nothing, and a person can have it all the same',
    async () => {
      const clock = createSettableClock()
      const server = await startPostgres({ env: clock.env })
      onTestFinished(() => server.dispose())
      const made = await createPostgres(server.config)
      onTestFinished(() => made.close())
      const store = postgresStore({ pool: newPool(made.config) })
      onTestFinished(() => store.close())
      await store.open()
      await recordOne(store, anEventDraft())
      await runOne(store, done)
      expect(await prune({ store, policy: RETENTION_DEFAULTS })).toMatchObject({ status: 'done' })

      clock.set(60 * 86_400_000)

      expect(await prune({ store, policy: RETENTION_DEFAULTS })).toMatchObject({
        status: 'refused',
        code: 'PRUNE_UNUSUAL',
        excess: expect.stringContaining('the last run was 60 days ago'),
      })
      expect(await recordOne(store, anEventDraft())).toMatchObject({ status: 'duplicate' })
      const forced = await prune({ store, policy: RETENTION_DEFAULTS }, FORCED)
      expect(forced).toMatchObject({ status: 'done', removed: { events: 1, keys: 1 } })
    },
  )
})

const FORCED = { force: true }

const OF_POSTGRES = [
  /detach partition \S*events_/,
  /insert into \S*events select/,
  /detach partition \S*outcomes_/,
  /prune_payloads/,
  /prune_keys/,
  /set value = \$1 where name = 'prune'/,
]
const OF_SQLITE = [
  /delete from \S*events where/,
  /delete from \S*attempts where/,
  /delete from \S*keys where/,
  /set value = lower\(hex/,
  /delete from \S*outcomes where/,
  /set value = \? where name = 'prune'/,
]

async function openStore({ store }: FaultDatabase): Promise<Store<QueryTx>> {
  const opened =
    store.engine === 'sqlite'
      ? (sqliteStore(store.file, { driver: 'libsql' }) as unknown as Store<QueryTx>)
      : postgresStore({ pool: newPool(store.connection) })
  await opened.open()
  onTestFinished(() => opened.close())
  return opened
}

function newPool(connection: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(connection)
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

/** This week is enough to be killed in. */
async function dropWeeksAhead({ engine, query }: FaultDatabase): Promise<void> {
  if (engine === 'sqlite') return
  const weeks = await query(
    `select relname, row_number() over (partition by inhparent order by relname) as nth
       from pg_inherits join pg_class on pg_class.oid = inhrelid
      where relname ~ '^(events|requests|attempts|outcomes)_[0-9]+$' and relkind = 'r'`,
  )
  for (const { relname, nth } of weeks)
    if (Number(nth) > 1) await query(`drop table hookonce.${String(relname)}`)
}

/** Rows that make no sense without others that are not there. */
async function countHalves({ engine, query }: FaultDatabase): Promise<number> {
  const at = engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  const [row] = await query(`
    select (select count(*) from ${at}keys k
             where not exists (select 1 from ${at}outcomes o where o.event_id = k.event_id)
               and not exists (select 1 from ${at}queue q where q.event_id = k.event_id))
         + (select count(*) from ${at}events e
             where not exists (select 1 from ${at}outcomes o where o.event_id = e.id)
               and not exists (select 1 from ${at}queue q where q.event_id = e.id))
         + (select count(*) from ${at}outcomes o
             where not exists (select 1 from ${at}keys k where k.event_id = o.event_id)
               and not exists (select 1 from ${at}events e where e.id = o.event_id)) as found`)
  return Number(row?.['found'])
}
