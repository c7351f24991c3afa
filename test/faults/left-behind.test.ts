import type { PoolClient } from 'pg'
import { describe, expect, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import type { QueryTx } from '../support/store-under-test.ts'

const WRITE = 'insert into effects values ($1, $2)'
const MANY = Array.from({ length: 60 }, (_, n) => `evt_${n}`)
const SOME = Array.from({ length: 8 }, (_, n) => `evt_${n}`)
const CULPRIT = 'evt_2'

/** What can stay on a connection, how, and how it looks to the next handler that has it. */
interface Leftover {
  readonly what: string
  readonly before?: string
  readonly leave: string
  /** Something, or nothing. */
  readonly look: string
}

const LEFTOVERS: readonly Leftover[] = [
  {
    what: 'a session lock',
    leave: 'select pg_advisory_lock(42)',
    look: `select count(*) as found from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  },
  {
    what: 'a session lock, taken in a function',
    before: `create function take_lock() returns void language sql as 'select pg_advisory_lock(42)'`,
    leave: 'select take_lock()',
    look: `select count(*) as found from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  },
  {
    what: 'a session lock, taken in a DO block',
    leave: 'do $$ begin perform pg_advisory_lock_shared(42); end $$',
    look: `select count(*) as found from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  },
  {
    what: 'a session lock, taken in a text that a DO block executes',
    leave: `do $$ begin execute 'select pg_try_advisory_lock(42)'; end $$`,
    look: `select count(*) as found from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  },
  {
    what: 'a session lock, taken in a trigger',
    before: `create table watched (n integer);
             create function take_lock() returns trigger language plpgsql as
             $$ begin perform pg_advisory_lock(42); return new; end $$;
             create trigger take_lock before insert on watched for each row execute function take_lock()`,
    leave: 'insert into watched values (1)',
    look: `select count(*) as found from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  },
  {
    what: 'a temporary table',
    leave: 'create temp table left_behind (n integer)',
    look: `select to_regclass('left_behind') as found`,
  },
  {
    what: 'a temporary table, made in a function',
    before: `create function make_table() returns void language plpgsql as
             $$ begin create temp table left_behind (n integer); end $$`,
    leave: 'select make_table()',
    look: `select to_regclass('left_behind') as found`,
  },
  {
    what: 'a temporary table that goes with the transaction',
    leave: `do $$ begin create temp table left_behind (n integer) on commit drop; end $$`,
    look: `select to_regclass('left_behind') as found`,
  },
  {
    what: 'a temporary function',
    leave: `create function pg_temp.left_behind() returns integer language sql as 'select 1'`,
    look: `select to_regprocedure('pg_temp.left_behind()') as found`,
  },
  {
    what: 'a setting, made in a DO block',
    leave: `do $$ begin perform set_config('app.tenant', 'a', false); end $$`,
    look: `select current_setting('app.tenant', true) as found`,
  },
  {
    what: 'a setting for the transaction, made in a function',
    before: `create function be_tenant() returns void language plpgsql as
             $$ begin perform set_config('app.tenant', 'a', true); end $$`,
    leave: 'select be_tenant()',
    look: `select current_setting('app.tenant', true) as found`,
  },
  {
    what: 'a setting, made in a trigger',
    before: `create table watched (n integer);
             create function be_tenant() returns trigger language plpgsql as
             $$ begin perform set_config('app.tenant', 'a', false); return new; end $$;
             create trigger be_tenant before insert on watched for each row execute function be_tenant()`,
    leave: 'insert into watched values (1)',
    look: `select current_setting('app.tenant', true) as found`,
  },
  {
    what: 'a search path',
    leave: `do $$ begin set search_path = pg_catalog; end $$`,
    look: `select nullif(current_setting('search_path'), '"$user", public') as found`,
  },
  {
    what: 'a role',
    leave: `do $$ begin set role pg_monitor; end $$`,
    look: `select nullif(current_setting('role'), 'none') as found`,
  },
  {
    what: 'a time limit',
    leave: `do $$ begin set statement_timeout = '1h'; end $$`,
    look: `select nullif(current_setting('statement_timeout'), '0') as found`,
  },
  {
    what: 'a prepared statement',
    leave: `do $$ begin execute 'prepare left_behind as select 1'; end $$`,
    look: `select count(*) as found from pg_prepared_statements where from_sql`,
  },
  {
    what: 'a LISTEN',
    leave: `do $$ begin execute 'listen left_behind'; end $$`,
    look: `select count(*) as found from pg_listening_channels()`,
  },
  {
    what: 'a cursor',
    leave: 'declare left_behind cursor for select 1',
    look: `select count(*) as found from pg_cursors where name = 'left_behind'`,
  },
  {
    what: 'a cursor that outlives the transaction',
    leave: 'declare left_behind cursor with hold for select 1',
    look: `select count(*) as found from pg_cursors where name = 'left_behind'`,
  },
]

describe('on PostgreSQL, what a handler leaves behind', () => {
  const named = LEFTOVERS.map((leftover) => [leftover.what, leftover] as const)
  describe.each(named)('%s', (_what, { leave, look, ...rest }) => {
    test.each([
      ['of a group', {}],
      ['alone', { groupMax: 1 }],
    ])(
      'H40: is met by no other event, %s, and by no other user of the pool',
      async (_, options) => {
        const { database, worker } = await prepare('postgres', SOME, rest)
        worker.inbox.on('partner', '*', options, async (event, { tx }) => {
          await tx.query(WRITE, [event.key, await lookAt(tx, look)])
          await tx.query(leave)
        })

        await runAll(worker, SOME)

        expect(await listNotes(database)).toEqual([NOTHING])
        expect(await database.listWrongEffects(SOME)).toEqual([])
        expect(worker.count('event.failed')).toBe(0)
        expect(await lookThroughPool(worker, look)).toEqual([])
      },
    )

    test('H40: is met by no other step', async () => {
      const { database, worker } = await prepare('postgres', SOME, rest)
      worker.inbox.steps('partner', '*', async (event, step) => {
        await step.tx('leave', async (tx) => {
          await tx.query(WRITE, [event.key, await lookAt(tx, look)])
          await tx.query(leave)
        })
      })

      await runAll(worker, SOME)

      expect(await listNotes(database)).toEqual([NOTHING])
      expect(await database.listWrongEffects(SOME)).toEqual([])
      expect(worker.count('event.failed')).toBe(0)
      expect(await lookThroughPool(worker, look)).toEqual([])
    })
  })

  test.each(['select pg_advisory_lock(42)', `do $$ begin execute 'prepare p as select 1'; end $$`])(
    'H40: is gone also when it has failed: %s',
    async (leave) => {
      const { worker } = await prepare('postgres', ['evt_0'])
      worker.inbox.on('partner', '*', { retry: { attemptsMax: 1 } }, async (_, { tx }) => {
        await tx.query(leave)
        throw new Error('after all')
      })

      await worker.inbox.start()
      await worker.untilHappened('event.dead')
      await worker.inbox.stop()

      const looks = [
        `select count(*) as found from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
        `select count(*) as found from pg_prepared_statements where from_sql`,
      ]
      for (const look of looks) expect(await lookThroughPool(worker, look)).toEqual([])
    },
  )

  test('H40: costs a handler its groups, and other handlers nothing', async () => {
    const { database, worker } = await prepare('postgres', [])
    await database.query(`create function make_table() returns void language plpgsql as
      $$ begin create temp table left_behind (n integer) on commit drop; end $$`)
    for (const key of MANY)
      await accept(worker, fromPartner({ key, type: Number(key.slice(4)) % 2 ? 'bad' : 'good' }))
    const transactions = new Map<string, string[]>()
    worker.inbox.on('partner', '*', async (event, { tx }) => {
      const { rows } = await tx.query('select pg_current_xact_id()::text as xid')
      transactions.set(event.key, [String(rows[0]!['xid'])])
      await tx.query(WRITE, [event.key, 'ran'])
    })
    worker.inbox.on('partner', 'bad', { name: 'bad' }, async (_, { tx }) => {
      await tx.query('select make_table()')
    })

    await runAll(worker, MANY)

    const xids = (type: number) =>
      new Set(MANY.flatMap((key, n) => (n % 2 === type ? (transactions.get(key) ?? []) : [])))
    expect(xids(1).size).toBe(30)
    expect(xids(0).size).toBeLessThan(10)
    // Once to see that something was left, and who it was is seen one by one.
    expect(worker.count('group.rerun')).toBeLessThanOrEqual(2)
    expect(worker.count('event.failed')).toBe(0)
  })

  test('H40: leaves alone the connections of handlers that leave nothing', async () => {
    const { worker } = await prepare('postgres', SOME)
    let connects = 0
    worker.pool!.on('connect', () => (connects += 1))
    worker.inbox.on('partner', '*', { groupMax: 1 }, async (event, { tx }) => {
      await tx.query(`select set_config('app.tenant', $1, true)`, [event.key])
      await tx.query('create temp table mine (n integer) on commit drop')
      await tx.query('insert into mine values (1)')
      await tx.query(`do $$ begin perform count(*) from mine; end $$`)
      await tx.query(WRITE, [event.key, 'ran'])
    })

    await worker.inbox.start()
    await until('all are done', () => worker.count('event.done') === SOME.length)

    // One for the slot, and the few that the worker itself needs.
    expect(connects).toBeLessThan(SOME.length)
  })

  test('H40: is told from what was there before', async () => {
    const { worker } = await prepare('postgres', SOME, {
      onConnect: (client) =>
        void client.query(`set app.region = 'north'; create temp table regions (n integer)`),
    })
    const seen: unknown[] = []
    worker.inbox.on('partner', '*', async (_, { tx }) => {
      await tx.query(`do $$ begin perform set_config('app.tenant', 'a', false); end $$`)
      const { rows } = await tx.query(
        `select current_setting('app.region') as region, to_regclass('regions')::text as found`,
      )
      seen.push(rows[0])
    })

    await runAll(worker, SOME)

    expect(seen.length).toBeGreaterThanOrEqual(SOME.length)
    for (const each of seen) expect(each).toEqual({ region: 'north', found: 'regions' })
  })
})

describe('a temporary table that is named like a real one', () => {
  const WAYS = {
    postgres: [
      'create temp table effects (event_key text, note text)',
      'create table pg_temp.effects (event_key text, note text)',
      'create temporary view effects as select 1',
      `select event_key, note into temp effects from effects limit 0`,
      'select hide_effects()',
      `do $$ begin perform hide_effects(); end $$`,
    ],
    sqlite: [
      'create temp table effects (event_key text, note text)',
      'create table temp.effects (event_key text, note text)',
      'create temp view effects as select 1',
    ],
  } as const

  test.each([
    ...WAYS.postgres.map((way) => ['postgres', way] as const),
    ...WAYS.sqlite.map((way) => ['sqlite', way] as const),
  ])('H40: swallows no writes of other events, on %s: %s', async (engine, way) => {
    const before =
      engine === 'sqlite'
        ? undefined
        : `create function hide_effects() returns void language plpgsql as
           $$ begin create temp table effects (event_key text, note text); end $$`
    const { database, worker } = await prepare(engine, MANY, { before })
    worker.inbox.on('partner', '*', async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key === CULPRIT) await tx.query(way)
    })

    await runAll(worker, MANY)

    expect(await database.listWrongEffects(MANY)).toEqual([])
    expect(worker.count('event.failed')).toBe(0)
  })

  test('H40: swallows no writes of other steps, on SQLite', async () => {
    const { database, worker } = await prepare('sqlite', SOME)
    worker.inbox.steps('partner', '*', async (event, step) => {
      await step.tx('write', async (tx) => {
        await tx.query(WRITE, [event.key, 'ran'])
        if (event.key === CULPRIT) await tx.query(WAYS.sqlite[1])
      })
    })

    await runAll(worker, SOME)

    expect(await database.listWrongEffects(SOME)).toEqual([])
  })
})

interface Preparation {
  readonly before?: string | undefined
  /** What the pool does with each of its connections, the first included. */
  readonly onConnect?: (client: PoolClient) => void
}

/** One slot, so that every event gets the connection that the one before it had. */
async function prepare(
  engine: FaultDatabase['engine'],
  keys: readonly string[],
  { before, onConnect }: Preparation = {},
): Promise<{ database: FaultDatabase; worker: FaultInbox }> {
  const database = await createFaultDatabase(engine)
  if (before !== undefined) await database.query(before)
  const worker = createFaultInbox(database, {
    // A busy machine lets a living worker stand still for seconds, and whether it lives is not asked here.
    worker: { concurrency: 1, groupBudgetMs: 60_000, deadAfterMs: 600_000 },
    poolMax: 5,
  })
  if (onConnect !== undefined) worker.pool?.on('connect', onConnect)
  for (const key of keys) await accept(worker, fromPartner({ key }))
  return { database, worker }
}

async function runAll(worker: FaultInbox, keys: readonly string[]): Promise<void> {
  await worker.inbox.start()
  await until('all are done', () => worker.count('event.done') === keys.length)
  await worker.inbox.stop()
}

const NOTHING = 'nothing'

async function lookAt(tx: Pick<QueryTx, 'query'>, look: string): Promise<string> {
  const { rows } = await tx.query(look)
  const found = JSON.stringify(rows[0]?.['found'] ?? '').replaceAll('"', '')
  // A setting that was made for one transaction is an empty text in the next.
  return found === '' || found === '0' ? NOTHING : found
}

/** What was seen by the runs that count: one that was rolled back has been made good. */
async function listNotes(database: FaultDatabase): Promise<unknown[]> {
  const rows = await database.query('select distinct note from effects')
  return rows.map(({ note }) => note)
}

/** What every client of the pool that is left sees. */
async function lookThroughPool({ pool }: FaultInbox, look: string): Promise<unknown[]> {
  const clients = await Promise.all(Array.from({ length: pool!.totalCount }, () => pool!.connect()))
  try {
    const found = await Promise.all(clients.map((client) => lookAt(client, look)))
    return found.filter((each) => each !== NOTHING)
  } finally {
    for (const client of clients) client.release()
  }
}
