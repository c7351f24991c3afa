/** The databases that tests are given: whatever one did to its own, the next has one that is as new. */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createInbox } from '../../../src/inbox/inbox.ts'
import { hmac } from '../../../src/providers/hmac.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { sign } from '../../../src/testing/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import { PING_OPTIONS } from '../../support/inbox-under-test.ts'
import { findBinaries } from '../../support/postgres/find-binaries.ts'
import { dropLentDatabases, lendDatabase } from '../../support/postgres/lend-database.ts'
import { newPool } from '../../support/postgres/open-postgres.ts'
import { startPostgres } from '../../support/postgres/start-postgres.ts'
import type { ConnectionConfig, PostgresServer } from '../../support/postgres/start-postgres.ts'

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const ADD_FUNCTION = `
  create function refuse() returns trigger language plpgsql as $$ begin return null; end $$`

describe.skipIf(findBinaries('embedded') === undefined)('a database that is lent again', () => {
  // A server of its own: on that of the run, other files take what is given back.
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(async () => {
    await server.dispose()
  })

  /** What the first borrower did, and whether the second has the same database. */
  async function lendAgainAfter(
    change: (config: ConnectionConfig) => Promise<unknown>,
  ): Promise<{ isSame: boolean; pool: pg.Pool }> {
    const first = await lendDatabase(server.config)
    await change(first.config)
    await first.giveBack()
    const second = await lendDatabase(server.config)
    const pool = newPool(second.config)
    const store = postgresStore({ pool, migrate: 'check' })
    await store.open()
    expect(await store.operators.countEvents()).toBe(0)
    await store.close()
    await second.giveBack()
    return { isSame: first.config.database === second.config.database, pool }
  }

  test('has nothing of what was stored in it', async () => {
    const { isSame, pool } = await lendAgainAfter(async (config) => {
      const pool = new pg.Pool(config)
      pool.on('connect', (client) => client.on('error', () => undefined))
      const store = postgresStore({ pool })
      await store.open()
      await store.events.record([anEventDraft()], { deadlineMs: 20_000 })
      await store.close()
      await pool.query(`select nextval('hookonce.lease_tokens')`)
      await pool.end()
    })

    expect(isSame).toBe(true)
    expect((await pool.query('select from hookonce.keys')).rowCount).toBe(0)
    expect(
      (await pool.query(`select nextval('hookonce.lease_tokens')::integer as n`)).rows,
    ).toEqual([{ n: 1 }])
  })

  test('is the same after an inbox has run on it: to make one for each test would cost half of a run', async () => {
    const { isSame } = await lendAgainAfter(async (config) => {
      const pool = new pg.Pool(config)
      pool.on('connect', (client) => client.on('error', () => undefined))
      const inbox = createInbox({
        store: postgresStore({ pool }),
        sources: { pings: hmac({ ...PING_OPTIONS, sameBytes: 'run' }) },
        logger: SILENT,
      })
      inbox.on('pings', '*', () => undefined)
      await inbox.start()
      const done = new Promise((resolve) => inbox.events.on('event.done', resolve))
      const ping = { body: '{}', headers: { 'x-id': 'evt_1' } }
      await inbox.receive('pings', sign('hmac', ping, PING_OPTIONS))
      await done
      await inbox.stop()
      await pool.end()
    })

    expect(isSame).toBe(true)
  })

  test.each([
    ['tables', 'create table effects (id serial primary key)'],
    ['schemas', 'create schema other; create table other.effects (id integer)'],
    [
      'triggers on our tables',
      `${ADD_FUNCTION};
       create trigger refuse before insert on hookonce.events for each row execute function refuse()`,
    ],
  ])('has none of the %s that were made', async (_, sql) => {
    const { isSame, pool } = await lendAgainAfter((config) => run(config, sql))

    expect(isSame).toBe(true)
    expect((await pool.query(`select from pg_class where relname like 'effects%'`)).rowCount).toBe(
      0,
    )
    expect((await pool.query(`select from pg_trigger where tgname = 'refuse'`)).rowCount).toBe(0)
  })

  test('has never forgotten or pruned anything', async () => {
    const { isSame, pool } = await lendAgainAfter((config) =>
      run(config, `update hookonce.meta set value = 'other' where name in ('epoch', 'prune')`),
    )

    expect(isSame).toBe(true)
    const { rows } = await pool.query<{ value: string }>(
      `select value from hookonce.meta where name in ('epoch', 'prune') order by name`,
    )
    expect(rows[0]?.value).toMatch(/^[\da-f-]{36}$/)
    expect(JSON.parse(rows[1]?.value ?? '')).toMatchObject({ usualEvents: 0, usualKeys: 0 })
  })

  test('has the settings of the server', async () => {
    const { isSame, pool } = await lendAgainAfter((config) =>
      run(config, `alter database ${config.database} set default_transaction_read_only = on`),
    )

    expect(isSame).toBe(true)
    await pool.query('create table effects (id integer)')
  })

  test('has no session of its last user', async () => {
    let forgotten: pg.Client | undefined
    const { isSame, pool } = await lendAgainAfter(async (config) => {
      forgotten = new pg.Client(config)
      forgotten.on('error', () => undefined)
      await forgotten.connect()
      await forgotten.query('begin')
      await forgotten.query('lock table hookonce.queue')
    })

    expect(isSame).toBe(true)
    await pool.query('begin; lock table hookonce.queue nowait; commit')
    await forgotten?.end()
  })

  test.each([
    ['all', 'drop schema hookonce cascade'],
    ['a row', `update hookonce.meta set value = 'other' where name = 'functions'`],
    ['the list of rows', `delete from hookonce.meta where name = 'epoch'`],
    ['a migration', 'delete from hookonce.migrations where version = 1'],
    ['a column', 'alter table hookonce.queue add column more integer'],
    ['a default', 'alter table hookonce.queue alter column attempts set default 1'],
    ['an index', 'drop index hookonce.queue_fresh'],
    ['a partition', 'drop table hookonce.events_default'],
    ['a name', 'alter table hookonce.workers rename to others'],
    ['a setting of a table', 'alter table hookonce.queue set (fillfactor = 50)'],
    ['a right', 'grant select on hookonce.queue to public'],
    [
      'a function',
      'create or replace function hookonce.fence_commit() returns trigger language plpgsql as $$ begin return null; end $$',
    ],
    ['a trigger', 'alter table hookonce.commit_fences disable trigger all'],
    [
      'statistics',
      'insert into hookonce.deliveries values (gen_random_uuid(), now(), $$x$$, 1); analyze hookonce.deliveries',
    ],
  ])('is another one where %s of ours was changed', async (_, sql) => {
    const { isSame } = await lendAgainAfter((config) => run(config, sql))

    expect(isSame).toBe(false)
  })

  test('is another one where the process that made it was killed halfway', async () => {
    const first = await lendDatabase(server.config)
    const halfway = first.config.database
    await run(server.config, `drop database ${halfway} with (force)`)
    await run(server.config, `create database ${halfway}`)
    await first.giveBack()

    const second = await lendDatabase(server.config)

    expect(second.config.database).not.toBe(halfway)

    await second.giveBack()
  })

  test('is lent to no other test until it is given back', async () => {
    const [one, other] = await Promise.all([
      lendDatabase(server.config),
      lendDatabase(server.config),
    ])

    expect(one.config.database).not.toBe(other.config.database)

    await Promise.all([one.giveBack(), other.giveBack()])
  })

  test('is gone when a run on a server that stays has ended', async () => {
    const kept = await lendDatabase(server.config)
    await dropLentDatabases(server.config)

    const names = await run(
      server.config,
      `select datname from pg_database where datname like 'lent%'`,
    )
    expect(names).toEqual([{ datname: kept.config.database }])

    await kept.giveBack()
  })
})

async function run(config: ConnectionConfig, sql: string): Promise<unknown[]> {
  const client = new pg.Client(config)
  await client.connect()
  const { rows } = await client.query<Record<string, unknown>>(sql)
  await client.end()
  return rows
}
