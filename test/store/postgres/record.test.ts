import { describe, expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import {
  hasNoPostgres,
  newPool,
  openPostgres,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { WireProxy } from '../../support/postgres/wire-proxy.ts'
import type { WireFault } from '../../support/postgres/wire-proxy.ts'
import { dead } from '../../support/store-steps.ts'

const DEADLINE = { deadlineMs: 20_000 }

describe.skipIf(hasNoPostgres)('recording on PostgreSQL', () => {
  test('a row that the database refuses fails its batch as rejected, and nothing of it is kept', async () => {
    const { store, query } = await openPostgres()
    await query(`
      create function refuse() returns trigger language plpgsql as $$
      begin
        if new.body = 'poison'::bytea then raise exception 'refused'; end if;
        return new;
      end $$`)
    await query(
      'create trigger refuse before insert on hookonce.events for each row execute function refuse()',
    )
    const good = anEventDraft({ key: 'good' })
    const bad = anEventDraft({ key: 'bad', body: 'poison' })

    await expect(store.events.record([good, bad], DEADLINE)).rejects.toMatchObject({
      code: 'STORE_REJECTED',
    })

    expect(await store.operators.countEvents()).toBe(0)
    expect(await store.events.record([good], DEADLINE)).toMatchObject([{ status: 'accepted' }])
  })

  test('a COMMIT that the database refuses is rejected', async () => {
    const { store, query } = await openPostgres()
    await query('create table parents (id uuid primary key)')
    await query(`
      create function expect_parent() returns trigger language plpgsql as $$
      begin raise exception 'no parent'; end $$`)
    await query(`
      create constraint trigger expect_parent after insert on hookonce.queue
      deferrable initially deferred for each row execute function expect_parent()`)

    await expect(store.events.record([anEventDraft()], DEADLINE)).rejects.toMatchObject({
      code: 'STORE_REJECTED',
    })

    expect(await store.operators.countEvents()).toBe(0)
  })

  test('racing duplicates are told so where the database defaults to a stricter isolation', async () => {
    const { config, query } = await openPostgres()
    await query(
      `alter database ${config.database} set default_transaction_isolation = 'repeatable read'`,
    )
    const stores = await Promise.all([1, 2, 3].map(async () => openStoreOn(config)))

    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        stores[n % 3]!.events.record([anEventDraft()], DEADLINE),
      ),
    )

    expect(answers.flat().filter(({ status }) => status === 'accepted')).toHaveLength(1)
    expect(answers.flat().filter(({ status }) => status === 'duplicate')).toHaveLength(59)
  })

  test('an event is committed durably and under READ COMMITTED, whatever the defaults are', async () => {
    const { config, query } = await openPostgres()
    await query(`alter database ${config.database} set synchronous_commit = off`)
    await query(
      `alter database ${config.database} set default_transaction_isolation = 'serializable'`,
    )
    await query('create table seen (commits text, isolation text)')
    await query(`
      create function note_setting() returns trigger language plpgsql as $$
      begin
        insert into seen values (current_setting('synchronous_commit'), current_setting('transaction_isolation'));
        return null;
      end $$`)
    await query(
      'create trigger note_setting after insert on hookonce.keys execute function note_setting()',
    )
    const store = await openStoreOn(config)

    await store.events.record([anEventDraft()], DEADLINE)

    expect(await query('select * from seen')).toEqual([
      { commits: 'on', isolation: 'read committed' },
    ])
  })

  test('a batch of duplicates only writes to the log, so that its COMMIT proves what it says', async () => {
    const { store, query } = await openPostgres()
    await store.events.record([anEventDraft()], DEADLINE)
    const position = async (): Promise<unknown> =>
      (await query('select pg_current_wal_flush_lsn()::text as lsn'))[0]?.['lsn']
    const before = await position()

    expect(await store.events.record([anEventDraft()], DEADLINE)).toMatchObject([
      { status: 'duplicate' },
    ])

    expect(await position()).not.toBe(before)
  })

  // Where content is watched a batch has a transaction with a COMMIT; elsewhere it is one call.
  describe.each([
    ['a call that commits by itself', 'run', /record_new/],
    ['COMMIT', 'quarantine', /commit$/],
  ] as const)('when the connection is lost at %s', (_, sameBytes, sent) => {
    test.each([
      ['before it is forwarded', 'drop-before', 'accepted'],
      ['after it is done', 'drop-after', 'duplicate'],
      ['by silence', 'black-hole', 'duplicate'],
    ] as const)('%s, no answer claims to know', async (_, fault: WireFault, next) => {
      const { config, store } = await openPostgres()
      const proxy = await WireProxy.start(config)
      onTestFinished(() => proxy.close())
      const pool = newPool(proxy.config)
      const behind = postgresStore({ pool })
      await behind.open()
      const draft = anEventDraft({ sameBytes })
      proxy.arm({ matches: sent, fault })

      // Silence is waited for; a connection that is dropped tells at once, however long that takes on a busy machine.
      const deadlineMs = fault === 'black-hole' ? 3_000 : 60_000
      await expect(behind.events.record([draft], { deadlineMs })).rejects.toMatchObject({
        code: 'COMMIT_UNKNOWN',
      })

      expect(pool.idleCount).toBe(0)
      expect(await store.events.record([draft], DEADLINE)).toMatchObject([{ status: next }])
      await behind.close()
    })
  })

  test('a client that was lent inside a transaction proves nothing', async () => {
    const { config, store } = await openPostgres()
    const pool = newPool({ ...config, max: 1 })
    const behind = postgresStore({ pool })
    await behind.open()
    const client = await pool.connect()
    await client.query('begin')
    client.release()

    await expect(behind.events.record([anEventDraft()], DEADLINE)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })

    expect(await store.events.record([anEventDraft()], DEADLINE)).toMatchObject([
      { status: 'accepted' },
    ])
    await behind.close()
  })

  test.each([
    'default_transaction_read_only = on',
    "default_transaction_isolation = 'repeatable read'",
    'statement_timeout = 1',
  ])('where the database says %s a batch has a transaction of its own', async (setting) => {
    const { config, query } = await openPostgres()
    const store = await openStoreOn(config)
    await query(`alter database ${config.database} set ${setting}`)
    // What is open keeps its defaults: only the store's next connections have the new ones.
    await query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    const drafts = Array.from({ length: 400 }, (_, n) => anEventDraft({ key: `evt_${n}` }))

    await expect
      .poll(async () => store.events.record(drafts, DEADLINE).catch(() => []))
      .toHaveLength(400)
  })

  test('a pool without a free connection is given up on at the deadline, and recovers', async () => {
    const { config } = await openPostgres()
    const pool = newPool({ ...config, max: 1 })
    const store = postgresStore({ pool })
    await store.open()
    const taken = await pool.connect()

    await expect(store.events.record([anEventDraft()], { deadlineMs: 200 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })

    taken.release()
    expect(await store.events.record([anEventDraft()], DEADLINE)).toMatchObject([
      { status: 'accepted' },
    ])
    await store.close()
  })

  test('an occurrence that PostgreSQL has no time for is stored without it', async () => {
    const { store } = await openPostgres()
    const drafts = [8.64e15, -8.64e15, Number.NaN].map((ms, n) =>
      anEventDraft({ key: `evt_${n}`, occurredAt: new Date(ms) }),
    )

    const recorded = await store.events.record(drafts, DEADLINE)

    expect(recorded.map(({ status }) => status)).toEqual(['accepted', 'accepted', 'accepted'])
    expect(await store.operators.findEvent(recorded[0]!.eventId)).toMatchObject({
      occurredAt: undefined,
    })
  })

  test('known bytes under another key queue a dead event again', async () => {
    const { store } = await openPostgres()
    const draft = (key: string) => anEventDraft({ key, sameBytes: 'duplicate' })
    const [first] = await store.events.record([draft('one')], DEADLINE)
    const { eventId } = first!
    const group = await store.queue.claim(aClaim())
    await group!.settle(group!.events.map(dead))
    await group!.commit()

    expect(await store.events.record([{ ...draft('two'), redelivery: 'count' }], DEADLINE)).toEqual(
      [{ status: 'duplicate', eventId }],
    )
    expect(await store.events.record([draft('three')], DEADLINE)).toEqual([
      { status: 'revived', eventId },
    ])

    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'ready', attempts: 0 })
  })

  test('a beat tells of a death that was settled a minute before it could be seen', async () => {
    const { store, query } = await openPostgres()
    const [first] = await store.events.record([anEventDraft()], DEADLINE)
    const group = await store.queue.claim(aClaim())
    await group!.settle(group!.events.map(dead))
    await group!.commit()
    const { now } = await store.events.beat(undefined)
    const settledAgo = async (seconds: number): Promise<void> => {
      const settledAt = new Date(now.getTime() - seconds * 1_000)
      await query('update hookonce.outcomes set settled_at = $1', [settledAt])
    }

    await settledAgo(55)
    expect((await store.events.beat(now)).died).toEqual([first!.eventId])
    await settledAgo(65)
    expect((await store.events.beat(now)).died).toEqual([])
  })
})
