/** Which functions are in the database when stores of several releases open it. */

import { describe, expect, onTestFinished, test } from 'vitest'
import type pg from 'pg'
import { FUNCTIONS, ownFunctions, signatureOf } from '../../../src/store/postgres/functions.ts'
import { listScripts } from '../../../src/store/postgres/migrate.ts'
import { MIGRATIONS } from '../../../src/store/postgres/migrations.ts'
import { postgresStore, printMigrations } from '../../../src/store/postgres/index.ts'
import type { PostgresStore, PostgresStoreOptions } from '../../../src/store/postgres/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import {
  createEmptyPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../../support/postgres/open-postgres.ts'
import { done, recordOne, runOne } from '../../support/store-steps.ts'

/** Of revisions that were released: a change to a function after that needs the next revision. */
const RELEASED: Readonly<Record<number, string>> = {}

test('a released set of functions is never changed under its revision', () => {
  const { revision, checksum } = ownFunctions()

  expect(RELEASED[revision] ?? checksum).toBe(checksum)
  expect(Object.keys(RELEASED).filter((one) => Number(one) > revision)).toEqual([])
})

describe.skipIf(hasNoPostgres)('functions', () => {
  test('that are not those of this release are made again when a store opens, and others are left', async () => {
    const { pool, open } = await openDatabase()
    const original = await describeFunctions(pool)
    await open()
    expect(await describeFunctions(pool)).toEqual(original)

    await spoil(pool)
    expect(sourcesOf(await describeFunctions(pool))).not.toEqual(sourcesOf(original))
    await setFunctions(pool, '0 earlier')
    const store = await open()

    expect(sourcesOf(await describeFunctions(pool))).toEqual(sourcesOf(original))
    expect(store.warnings).toEqual([])
    await runOneOf(store)
  })

  test('with other arguments or another result give way, and a function of the user’s stays', async () => {
    const { pool, open } = await openDatabase()
    const original = await describeFunctions(pool)
    await pool.query(`
      drop function hookonce.look;
      create function hookonce.look(after_topic bigint) returns integer language sql as 'select 1';
      create function hookonce.announce(worker text) returns void language sql as '';
      drop function hookonce.settle_resting;
      create function hookonce.settle_resting(
        events uuid[], runs integer[], states text[], attempt_counts integer[], started_ago_ms float8[],
        durations_ms integer[], reasons text[], results text[]) returns text language sql as $$ select 'x' $$;
      create function hookonce.mine() returns integer language sql as 'select 1'`)
    await setFunctions(pool, '0 earlier')

    await runOneOf(await open())

    const now = sourcesOf(await describeFunctions(pool))
    expect(now.filter((source) => !source.startsWith('mine()'))).toEqual(sourcesOf(original))
    expect((await pool.query('select hookonce.mine()')).rowCount).toBe(1)
  })

  test('H19: of a later release are used as they are, with a warning, however often the two start in turns', async () => {
    const { pool, open } = await openDatabase()
    await spoil(pool)
    const revision = ownFunctions().revision + 1
    await setFunctions(pool, `${revision} later`)
    const later = await describeFunctions(pool)

    for (const migrate of ['auto', 'check', 'auto'] as const) {
      const store = await open({ migrate })

      expect(store.warnings).toEqual([expect.stringContaining(`revision ${revision}`)])
      await runOneOf(store)
    }

    expect(await describeFunctions(pool)).toEqual(later)
  })

  test('H19: of a later release that this one cannot call are refused, and left as they are', async () => {
    const { pool, open } = await openDatabase()
    await pool.query(`
      drop function hookonce.announce;
      create function hookonce.announce(worker text) returns void language sql as ''`)
    await setFunctions(pool, `${ownFunctions().revision + 1} later`)
    const later = await describeFunctions(pool)

    for (const migrate of ['auto', 'check'] as const) {
      await expect(open({ migrate })).rejects.toMatchObject({
        code: 'SCHEMA_NEWER',
        message: expect.stringContaining('functions') as string,
      })
    }

    expect(await describeFunctions(pool)).toEqual(later)
  })

  test('of an earlier release are not enough where the schema is only checked', async () => {
    const { pool, open } = await openDatabase()
    await setFunctions(pool, '0 earlier')

    await expect(open({ migrate: 'check' })).rejects.toMatchObject({
      code: 'SCHEMA_OUTDATED',
      message: expect.stringContaining('functions') as string,
    })
  })

  test('of triggers are made again too, and no version of the tables has them', async () => {
    const { pool, open } = await openDatabase()
    const original = await describeFunctions(pool)
    await pool.query(`
      create or replace function hookonce.fence_commit() returns trigger language plpgsql
      as 'begin return null; end'`)
    await setFunctions(pool, '0 earlier')

    await runOneOf(await open())

    expect(sourcesOf(await describeFunctions(pool))).toEqual(sourcesOf(original))
    const ofTables = MIGRATIONS.flatMap(
      ({ sql }) => sql.match(/^create (?:or replace )?function .*/gim) ?? [],
    )
    expect(ofTables).toEqual([expect.stringContaining('fence_commit()')])
    expect(FUNCTIONS.join()).toContain('fence_commit()')
  })

  test('that are missing, so that only the tables are there, let no fenced transaction commit', async () => {
    const pool = newPool(await createEmptyPostgresDatabase())
    const tables = listScripts('"hookonce"').filter((script) => script.of === 'tables')
    for (const { sql } of tables) await pool.query(sql)

    const fenced = pool.query(`insert into hookonce.commit_fences values ('worker', 0, 1)`)

    await expect(fenced).rejects.toThrow('the functions of hookonce are missing')
    expect((await pool.query('select from hookonce.commit_fences')).rowCount).toBe(0)
  })

  test('are made again once by ten stores that open at the same time', async () => {
    const { pool, open } = await openDatabase()
    await setFunctions(pool, '0 earlier')
    await watchFunctions(pool)

    const stores = await Promise.all(Array.from({ length: 10 }, () => open()))

    const { rows } = await pool.query('select distinct xid from made')
    expect(rows).toHaveLength(1)
    await runOneOf(stores[0]!)
  })

  test('keep the rights that were granted on them', async () => {
    const { pool, open } = await openDatabase()
    await pool.query('revoke execute on all functions in schema hookonce from public')
    const granted = await listRights(pool)
    await setFunctions(pool, '0 earlier')

    await open()

    expect(await listRights(pool)).toEqual(granted)
    expect(granted).not.toContain(null)
  })

  test('can be put in by hand, also where an earlier release had other arguments', async () => {
    const { pool, open } = await openDatabase()
    const original = await describeFunctions(pool)
    await pool.query(`
      drop function hookonce.look;
      create function hookonce.look(after_topic bigint) returns integer language sql as 'select 1'`)
    await setFunctions(pool, '0 earlier')

    const printed = printMigrations()
    await pool.query(`begin; ${printed.slice(printed.indexOf('-- Functions'))}`)

    await runOneOf(await open({ migrate: 'check' }))
    expect(sourcesOf(await describeFunctions(pool))).toEqual(sourcesOf(original))
  })

  test('are found by what their text says they are called by', async () => {
    const { pool } = await openDatabase()
    const signatures = FUNCTIONS.map(signatureOf).map(
      ({ name, types }) => `hookonce.${name}(${types})`,
    )

    const { rows } = await pool.query<{ found: string | null }>(
      'select to_regprocedure(s)::text as found from unnest($1::text[]) s',
      [signatures],
    )

    expect(rows.filter(({ found }) => found === null)).toEqual([])
    expect(new Set(signatures).size).toBe(FUNCTIONS.length)
  })
})

type Options = Partial<PostgresStoreOptions>

async function openDatabase() {
  const pool = newPool({ ...(await createEmptyPostgresDatabase()), max: 12 })
  // Each store listens to it.
  pool.setMaxListeners(20)
  const open = async (options: Options = {}) => {
    const store = postgresStore({ pool, ...options })
    onTestFinished(() => store.close())
    await store.open()
    return store
  }
  await open()
  return { pool, open }
}

let keys = 0

/** Records an event and runs it, which takes most of the functions. */
async function runOneOf(store: PostgresStore): Promise<void> {
  keys += 1
  await recordOne(store, anEventDraft({ key: `evt_${keys}` }))
  await runOne(store, done)
}

/** Changes what a function is like, and not what it does. */
async function spoil(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ text: string }>(
    `select pg_get_functiondef('hookonce.look'::regproc) as text`,
  )
  await pool.query(rows[0]!.text.replace('begin', '-- by hand\nbegin'))
}

async function setFunctions(pool: pg.Pool, value: string): Promise<void> {
  await pool.query(`update hookonce.meta set value = $1 where name = 'functions'`, [value])
}

interface DescribedFunction {
  readonly signature: string
  readonly source: string
  readonly changedBy: string
}

async function describeFunctions(pool: pg.Pool): Promise<readonly DescribedFunction[]> {
  const { rows } = await pool.query<DescribedFunction>(`
    select p.proname || '(' || pg_get_function_arguments(p.oid) || ') ' || pg_get_function_result(p.oid) as signature,
           p.prosrc as source, p.xmin::text as "changedBy"
      from pg_proc p
     where p.pronamespace = 'hookonce'::regnamespace
     order by 1`)
  return rows
}

function sourcesOf(functions: readonly DescribedFunction[]): readonly string[] {
  return functions.map(({ signature, source }) => `${signature} ${source}`)
}

/** Writes down in which transaction a function is made. */
async function watchFunctions(pool: pg.Pool): Promise<void> {
  await pool.query(`
    create table made (xid text);
    create function note_made() returns event_trigger language plpgsql as $$
      begin insert into made values (pg_current_xact_id()::text); end $$;
    create event trigger note_made on ddl_command_end when tag in ('CREATE FUNCTION')
      execute function note_made()`)
}

async function listRights(pool: pg.Pool): Promise<readonly unknown[]> {
  const { rows } = await pool.query<{ rights: string | null }>(`
    select proacl::text as rights from pg_proc
     where pronamespace = 'hookonce'::regnamespace order by proname, oid`)
  return rows.map(({ rights }) => rights)
}
