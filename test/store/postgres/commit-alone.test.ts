import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { anEventDraft } from '../../support/builders.ts'
import { aLeaseRequest, leaseOne, makeLeasable } from '../../support/lease-steps.ts'
import { claimMessages, claimOne, enqueue, sent } from '../../support/outbox-steps.ts'
import { hasNoPostgres, newPool, openPostgres } from '../../support/postgres/open-postgres.ts'
import type { OpenedPostgres } from '../../support/postgres/open-postgres.ts'
import { WireProxy } from '../../support/postgres/wire-proxy.ts'
import { done, recordOne } from '../../support/store-steps.ts'
import type { QueryTx } from '../../support/store-under-test.ts'

type TestStore = Store<QueryTx>

/** A statement of the store that is a transaction of its own. */
interface Call {
  readonly name: string
  /** What of it is seen on the wire. */
  readonly sent: RegExp
  /** Makes something for it to do. What is returned does it, on any store, and says whether it was done. */
  prepare(store: TestStore): Promise<(store: TestStore) => Promise<boolean>>
  /** What it says when it was done before. */
  readonly again: boolean
}

const CALLS: readonly Call[] = [
  {
    name: 'leaseDue',
    sent: /lease_due/,
    again: false,
    prepare: async (store) => {
      await recordOne(store, anEventDraft())
      await makeLeasable(store)
      const request = aLeaseRequest(9)
      return async (other) => (await other.steps.lease(request)).length === 1
    },
  },
  {
    name: 'writeCalls',
    sent: /write_calls/,
    again: true,
    prepare: async (store) => {
      await recordOne(store, anEventDraft())
      const { lease } = await leaseOne(store)
      const place = { handler: 'h', position: 1, name: 'charge' }
      const entry = { ...place, lease, change: 'done', result: '1' } as const
      return async (other) => (await other.steps.writeCalls([entry]))[0] !== undefined
    },
  },
  {
    name: 'settleLeased',
    sent: /settle_leased/,
    again: false,
    prepare: async (store) => {
      await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)
      const settlement = { lease: leased.lease, settlement: done(leased) }
      return async (other) => (await other.steps.settle([settlement]))[0] === true
    },
  },
  {
    name: 'claimMessages',
    sent: /claim_messages/,
    again: false,
    prepare: async (store) => {
      await enqueue(store, {})
      return async (other) => (await claimMessages(other)).length === 1
    },
  },
  {
    name: 'settleMessages',
    sent: /settle_messages/,
    again: false,
    prepare: async (store) => {
      await enqueue(store, {})
      const message = await claimOne(store)
      return async (other) => (await other.messages.settle([sent(message)])).size === 1
    },
  },
]

describe.skipIf(hasNoPostgres).each(CALLS)('$name commits by itself', (call) => {
  async function open() {
    const opened = await openPostgres()
    return { ...opened, run: await call.prepare(opened.store) }
  }

  test.each([
    "default_transaction_isolation = 'repeatable read'",
    "default_transaction_isolation = 'serializable'",
    'default_transaction_read_only = on',
    'synchronous_commit = off',
    'lock_timeout = 50',
    'statement_timeout = 2000',
  ])('durably, with settings of ours, where the role has %s', async (setting) => {
    const { config, query, run } = await open()
    const store = await openWithDefaults(config, setting)
    await noteSettings(query)

    expect(await run(store)).toBe(true)

    expect(await query('select distinct * from seen')).toEqual([
      { commits: 'on', isolation: 'read committed', waits: '5s' },
    ])
    await store.close()
  })

  test.each([
    ['', pg.Client],
    [', also where the driver cannot tell before', WithoutStatus],
  ])('only outside a transaction that another client left open%s', async (_, Client) => {
    const { config, store, run } = await open()
    const pool = newPool({ ...config, max: 1, Client })
    const behind = postgresStore({ pool })
    await behind.open()
    const client = await pool.connect()
    await client.query('begin')
    client.release()

    await expect(run(behind)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })

    expect(pool.totalCount).toBe(0)
    // The server rolls it back when it notices that the connection is closed.
    await expect.poll(() => run(store)).toBe(true)
    expect(await run(behind)).toBe(call.again)
    await behind.close()
  })

  test.each([
    ['before it is forwarded', 'drop-before', true],
    ['after it is done', 'drop-after', call.again],
  ] as const)(
    'and when its connection is lost %s, no answer claims to know',
    async (_, fault, next) => {
      const { config, store, run } = await open()
      const proxy = await WireProxy.start(config)
      onTestFinished(() => proxy.close())
      const pool = newPool(proxy.config)
      const behind = postgresStore({ pool })
      await behind.open()
      proxy.arm({ matches: call.sent, fault })

      await expect(run(behind)).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' })

      expect(pool.idleCount).toBe(0)
      expect(await run(store)).toBe(next)
      await behind.close()
    },
  )
})

describe.skipIf(hasNoPostgres)('a call that commits by itself', () => {
  test('is not tried any more where its isolation is refused', async () => {
    const { config, query } = await openPostgres()
    const store = await openWithDefaults(config, "default_transaction_isolation = 'serializable'")
    await query('create sequence refusals')
    await query(`
      create or replace function hookonce.require_settings() returns void language plpgsql as $$
      begin
        perform nextval('refusals');
        if current_setting('transaction_isolation') <> 'read committed' then
          raise 'this needs READ COMMITTED' using errcode = 'active_sql_transaction';
        end if;
      end $$`)

    for (let i = 0; i < 5; i += 1) await claimMessages(store)

    // The first was refused; each has had a transaction of its own.
    expect(await query(`select last_value::integer as calls from refusals`)).toEqual([{ calls: 6 }])
    await store.close()
  })
})

describe.skipIf(hasNoPostgres)('a store whose pool lends a client inside a transaction', () => {
  // A snapshot from before would show none of the steps, and a call would be made without a look.
  test('reads nothing from its snapshot', async () => {
    const { config, store } = await openPostgres()
    const { eventId } = await recordOne(store, anEventDraft())
    const { lease } = await leaseOne(store)
    const pool = newPool({ ...config, max: 1 })
    const behind = postgresStore({ pool })
    await behind.open()
    const client = await pool.connect()
    await client.query('begin isolation level repeatable read; select 1')
    const place = { handler: 'h', position: 1, name: 'charge', result: undefined }
    await store.steps.writeCalls([{ ...place, lease, change: 'started' }])
    client.release()

    await expect(behind.steps.list(eventId)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await behind.steps.list(eventId)).toHaveLength(1)
    await behind.close()
  })

  test('commits nothing that is not its own', async () => {
    const { config, store, query } = await openPostgres()
    await query('create table foreign_work (id integer)')
    await recordOne(store, anEventDraft())
    const leased = await leaseOne(store)
    const pool = newPool({ ...config, max: 1 })
    const behind = postgresStore({ pool })
    await behind.open()
    const client = await pool.connect()
    await client.query('begin; insert into foreign_work values (1)')
    client.release()
    const step = { lease: leased.lease, handler: 'h', position: 1, name: 'write' }
    const open = () =>
      behind.steps.open([{ ...step, kind: 'tx' }], { idleTimeoutMs: 60_000, lockTimeoutMs: 0 })

    await expect(open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const opened = await open()
    expect(await opened?.commit([{ text: '1' }])).toEqual({ status: 'committed' })

    expect(await query('select * from foreign_work')).toEqual([])
    await behind.close()
  })
})

/** As older versions of the driver are: the status shows only after a statement. */
class WithoutStatus extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    Object.defineProperty(this, 'getTransactionStatus', { value: undefined })
  }
}

/** A store all of whose connections have a setting. They are open already, so that opening need not bear it. */
async function openWithDefaults(config: pg.PoolConfig, setting: string): Promise<TestStore> {
  const pool = newPool({ ...config, max: 4, idleTimeoutMillis: 0 })
  const store = postgresStore({ pool })
  await store.open()
  const clients = await Promise.all(Array.from({ length: 4 }, () => pool.connect()))
  for (const client of clients) await client.query(`set ${setting}`)
  for (const client of clients) client.release()
  return store
}

/** Writes down under which settings rows are written from now on, and takes long for a hasty one. */
async function noteSettings(query: OpenedPostgres['query']): Promise<void> {
  await query('create table seen (commits text, isolation text, waits text)')
  await query(`
    create function note_settings() returns trigger language plpgsql as $$
    begin
      if current_setting('statement_timeout') = '50ms' then perform pg_sleep(30); end if;
      insert into seen values (current_setting('synchronous_commit'), current_setting('transaction_isolation'),
                               current_setting('lock_timeout'));
      return null;
    end $$`)
  for (const table of ['queue', 'steps', 'message_queue']) {
    await query(
      `create trigger note_settings after insert or update or delete on hookonce.${table}
          execute function note_settings()`,
    )
  }
}
