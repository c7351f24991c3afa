import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Connections } from '../../../src/store/postgres/connections.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { withShortLocks } from '../../../src/store/postgres/migrate.ts'
import { MIGRATIONS } from '../../../src/store/postgres/migrations.ts'
import type { Migration } from '../../../src/store/postgres/migrations.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, newPool, openPostgres } from '../../support/postgres/open-postgres.ts'
import { recordOne } from '../../support/store-steps.ts'

const LONG = { timeout: 90_000 }

const WAITING = `
  select count(*)::integer as waiting
    from pg_locks
   where relation = 'hookonce.events'::regclass and mode = 'AccessExclusiveLock' and not granted`
const CHANGED = `
  select count(*)::integer as changed
    from information_schema.columns
   where table_schema = 'hookonce' and table_name = 'events' and column_name = 'later'`

describe.skipIf(hasNoPostgres)('a migration beside a transaction that reads for long', () => {
  test(
    'H19: no delivery waits for the reader, and the tables are changed when it has ended',
    LONG,
    async () => {
      const { config, query, store } = await openPostgres()
      const reader = await readForLong(config)
      await prepareRelease(query, 'alter table {schema}.events add column later text;')
      const release = postgresStore({ pool: newPool(config) })
      onTestFinished(() => release.close())

      const opening = release.open()
      // More than one try, so that it goes on as well.
      for (const key of ['first', 'second']) {
        await expect.poll(async () => (await query(WAITING))[0]?.['waiting']).toBe(1)
        // Much longer than one try, and not for ever.
        const recorded = await store.events.record([anEventDraft({ key })], { deadlineMs: 15_000 })
        expect(recorded).toMatchObject([{ status: 'accepted' }])
      }
      expect((await query(CHANGED))[0]?.['changed']).toBe(0)
      await reader.query('commit')
      await opening

      expect((await query(CHANGED))[0]?.['changed']).toBe(1)
      expect(await recordOne(store, anEventDraft({ key: 'then' }))).toMatchObject({
        status: 'accepted',
      })
    },
  )

  test('H19: says what to look for when it is in vain, and leaves the tables as they are', async () => {
    const { config, query } = await openPostgres()
    await readForLong(config)
    const connections = new Connections(newPool(config), 'hookonce')
    onTestFinished(() => connections.close())

    const changing = connections.transact((connection) =>
      withShortLocks(
        connection,
        () => connection.run('alter table hookonce.events add column later text'),
        [1, 1],
      ),
    )

    await expect(changing).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('pg_stat_activity') as string,
    })
    expect((await query(CHANGED))[0]?.['changed']).toBe(0)
  })
})

/** A report, or a backup. */
async function readForLong(config: pg.ClientConfig): Promise<pg.Client> {
  const reader = new pg.Client(config)
  await reader.connect()
  onTestFinished(() => reader.end())
  await reader.query('begin')
  await reader.query('select id from hookonce.events limit 1')
  return reader
}

/** The database is one version behind, and what the next release does to its tables is this. */
async function prepareRelease(
  query: (sql: string) => Promise<unknown>,
  sql: string,
): Promise<void> {
  await query('delete from hookonce.migrations where version = 1')
  const migrations = MIGRATIONS as Migration[]
  const [first] = migrations.splice(0, 1, { version: 1, sql }) as [Migration]
  onTestFinished(() => void migrations.splice(0, 1, first))
}
