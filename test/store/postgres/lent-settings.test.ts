import { describe, expect, test } from 'vitest'
import { SettingRefusedError } from '../../../src/errors.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, done } from '../../support/store-steps.ts'

const LOCAL = [
  "set local app.tenant = 'a'",
  "/* for */ SET -- this\n LOCAL app.tenant = 'a'",
  "select set_config('app.tenant', 'a', true)",
  "select pg_catalog.SET_CONFIG ( 'app.tenant', concat('a', ', b'), /* ends with it */ TRUE )",
  `select "set_config"('app.tenant', (array['a'])[1], true)`,
]

const LASTING = [
  "set app.tenant = 'a'",
  "set session app.tenant = 'a'",
  'reset app.tenant',
  "select 1; set app.tenant = 'a'",
  "select set_config('app.tenant', 'a', false)",
  "select set_config('app.tenant', 'true', 1 = 1)",
  "select set_config('app.a', 'a', true), set_config('app.b', 'b', false)",
]

describe.skipIf(hasNoPostgres)('settings in a lent transaction', () => {
  test('a handler that shares its transaction may change none', async () => {
    const { store } = await openPostgres()
    const group = await claimSome(store, 2)
    const { tx } = group.lend()

    for (const sql of [...LOCAL, ...LASTING]) {
      const refusal: unknown = await tx.query(sql).catch((error: unknown) => error)
      expect(refusal, sql).toBeInstanceOf(SettingRefusedError)
    }

    const { rows } = await tx.query("select current_setting('app.tenant', true) as tenant")
    expect(rows).toEqual([{ tenant: null }])
    expect(group.status()).toBe('open')
    await group.abandon()
  })

  test.each(LOCAL)('a handler that runs alone may say %j', async (sql) => {
    const { store } = await openPostgres()
    const group = await claimSome(store, 1)
    const { tx } = group.lend()

    await tx.query(sql)

    const { rows } = await tx.query<{ tenant: string }>(
      "select current_setting('app.tenant') as tenant",
    )
    expect(rows[0]?.tenant).toMatch(/^a/)
    await group.abandon()
  })

  test('what would outlive the transaction is refused to one that runs alone as well', async () => {
    const { store } = await openPostgres()
    const group = await claimSome(store, 1)
    const { tx } = group.lend()

    for (const sql of LASTING) {
      const refusal: unknown = await tx.query(sql).catch((error: unknown) => error)
      expect(refusal, sql).toMatchObject({ code: 'TRANSACTION_CONTROL' })
      expect(refusal, sql).not.toBeInstanceOf(SettingRefusedError)
    }
    await expect(tx.query("select set_config('app.tenant', 'a', $1)", [true])).rejects.toThrow(
      'would outlive',
    )
    await group.abandon()
  })

  test('words that only look like a setting are let through', async () => {
    const { store } = await openPostgres()
    const group = await claimSome(store, 2)

    const { rows } = await group
      .lend()
      .tx.query(`select 'set_config(a); set b' as "set", 1 as set_config -- set_config(`)

    expect(rows).toEqual([{ set: 'set_config(a); set b', set_config: 1 }])
    await group.abandon()
  })

  test('no handler can weaken our COMMIT', async () => {
    const { store, query } = await openPostgres()
    await query('create table seen (commits text)')
    await query(`
      create function note_setting() returns trigger language plpgsql as $$
      begin
        insert into seen values (current_setting('synchronous_commit'));
        return null;
      end $$`)
    // Deferred, it runs inside COMMIT.
    await query(`
      create constraint trigger note_setting after delete on hookonce.queue
      deferrable initially deferred for each row execute function note_setting()`)
    const group = await claimSome(store, 1)
    await group.lend().tx.query('set local synchronous_commit = off')
    await group.settle(group.events.map(done))

    expect(await group.commit()).toEqual({ status: 'committed' })

    expect(await query('select * from seen')).toEqual([{ commits: 'on' }])
  })
})

async function claimSome(store: PostgresStore, count: number) {
  const drafts = Array.from({ length: count }, (_, n) => anEventDraft({ key: `evt_${n}` }))
  await store.events.record(drafts, { deadlineMs: 20_000 })
  return claim(store)
}
