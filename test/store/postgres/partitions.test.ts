import { describe, expect, onTestFinished, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, done } from '../../support/store-steps.ts'

const PARTITIONS = `
  select count(*)::int as found
    from pg_inherits join pg_class on pg_class.oid = inhrelid
   where inhparent = 'hookonce.events'::regclass and relname <> 'events_default'`

const WAITING = `
  select count(*)::int as found
    from pg_locks join pg_database on pg_database.oid = pg_locks.database
   where not granted and datname = current_database()`

type Query = Awaited<ReturnType<typeof openPostgres>>['query']

/** Takes the partition of this week from a table. Returns the statement that puts it back. */
async function detachThisWeek(query: Query, parent: 'events' | 'outcomes'): Promise<string> {
  const [found] = await query(`
    select relname as name, pg_get_expr(relpartbound, pg_class.oid) as bound
      from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'hookonce.${parent}'::regclass and relname ~ '_[0-9]{8}$'
     order by relname limit 1`)
  const partition = `partition hookonce.${String(found?.['name'])}`
  await query(`alter table hookonce.${parent} detach ${partition}`)
  return `alter table hookonce.${parent} attach ${partition} ${String(found?.['bound'])}`
}

describe.skipIf(hasNoPostgres)('partitions', () => {
  test('an event of this week is in the partition of this week', async () => {
    const { store, query } = await openPostgres()

    await store.events.record([anEventDraft()], { deadlineMs: 30_000 })

    expect(await query('select count(*)::int as found from hookonce.events')).toEqual([
      { found: 1 },
    ])
    expect(await query('select count(*)::int as found from hookonce.events_default')).toEqual([
      { found: 0 },
    ])
    expect(await query(PARTITIONS)).toEqual([{ found: 3 }])
  })

  test('a week that began in the default partition stays there, and the later weeks get their own', async () => {
    const { store, query } = await openPostgres()
    for (const { relname } of await query(
      `select relname from pg_inherits join pg_class on pg_class.oid = inhrelid where relname ~ '_[0-9]+$'`,
    )) {
      await query(`drop table hookonce.${String(relname)}`)
    }
    await store.events.record([anEventDraft()], { deadlineMs: 30_000 })

    await store.maintain()

    expect(await query('select count(*)::int as found from hookonce.events_default')).toEqual([
      { found: 1 },
    ])
    expect(await query(PARTITIONS)).toEqual([{ found: 2 }])
  })

  test('a delivery that meets the making of a partition is stored', async () => {
    const { store, query, pool } = await openPostgres()
    const attach = await detachThisWeek(query, 'events')
    const maker = await pool.connect()
    onTestFinished(() => maker.release())
    await maker.query('begin')
    await maker.query(attach)

    const recorded = store.events.record([anEventDraft()], { deadlineMs: 60_000 })
    await expect.poll(() => query(WAITING)).toEqual([{ found: 1 }])
    await maker.query('commit')

    expect(await recorded).toMatchObject([{ status: 'accepted' }])
    expect(await query('select count(*)::int as found from hookonce.events_default')).toEqual([
      { found: 0 },
    ])
  })

  test('an outcome that meets the making of a partition is no fault of the event', async () => {
    const { store, query, pool } = await openPostgres()
    await store.events.record([anEventDraft()], { deadlineMs: 60_000 })
    const attach = await detachThisWeek(query, 'outcomes')
    const maker = await pool.connect()
    onTestFinished(() => maker.release())
    await maker.query('begin')
    await maker.query(attach)

    const group = await claim(store, { limit: 1 })
    const settled = group.settle(group.events.map(done))
    settled.catch(() => undefined)
    await expect.poll(() => query(WAITING)).toEqual([{ found: 1 }])
    await maker.query('commit')

    const error: unknown = await settled.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(store.findTrouble(error)).toBe('contended')
  })
})
