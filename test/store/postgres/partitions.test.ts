import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'

const PARTITIONS = `
  select count(*)::int as found
    from pg_inherits join pg_class on pg_class.oid = inhrelid
   where inhparent = 'hookonce.events'::regclass and relname <> 'events_default'`

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
})
