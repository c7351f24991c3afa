import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EventRecord } from '../../src/model/outcome.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import type { QueryTx } from '../support/store-under-test.ts'

const AT_ONCE = { retry: { firstMs: 1, factor: 1 } }
const WRITE = 'insert into effects values ($1, $2)'
/** The type of the one event that takes too long, so that only it has a short time. */
const HANGS = 'thing.hangs'
const SHORT = { ...AT_ONCE, timeoutMs: 800 }

describe('a handler that fails on PostgreSQL', () => {
  test('H02: one that swallows the error of a statement is not done, and neither are its writes', async () => {
    const { database, worker } = await prepare(5)
    const runs = countRuns()
    worker.inbox.on('partner', '*', AT_ONCE, async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key === 'evt_2' && runs.next(event.key) <= 2)
        await tx.query('select 1 / 0').catch(() => undefined)
    })

    await runAll(worker, 5)

    const event = await worker.getEvent('evt_2')
    expect(event.outcome).toMatchObject({ state: 'done', attempts: 2 })
    expect(event.failures).toMatchObject([{ attempt: 1, reason: 'transaction' }])
    expect(await database.listWrongEffects(keys(5))).toEqual([])
  })

  test('H05: one whose connection is terminated is tried again, with the reason written down', async () => {
    const { database, worker } = await prepare(1)
    const runs = countRuns()
    worker.inbox.on('partner', '*', AT_ONCE, async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      if (runs.next(event.key) > 1) return
      const { rows } = await tx.query('select pg_backend_pid() as pid')
      await database.query('select pg_terminate_backend($1)', [rows[0]!['pid']])
      await tx.query(WRITE, [event.key, 'after the end'])
    })

    await runAll(worker, 1)

    const event = await worker.getEvent('evt_0')
    expect(event.failures).toMatchObject([{ attempt: 1, reason: 'connection' }])
    expect(event.outcome).toMatchObject({ state: 'done', attempts: 2 })
    expect(await database.countEffects()).toBe(1)
  })

  test('H06: one whose statement is cancelled is tried again, and its neighbours are done once', async () => {
    const { database, worker } = await prepare(5)
    const runs = countRuns()
    worker.inbox.on('partner', '*', AT_ONCE, async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key === 'evt_3' && runs.next(event.key) <= 2) await tx.query('select pg_sleep(60)')
    })
    const running = runAll(worker, 5)
    for (let cancelled = 0; cancelled < 2;) {
      const rows = await database.query(
        `select pg_cancel_backend(pid) as is_cancelled from pg_stat_activity
          where datname = current_database() and state = 'active' and query = 'select pg_sleep(60)'`,
      )
      cancelled += rows.length
      // The same statement may be seen once more before it has ended: waiting for it to be gone keeps the count right.
      if (rows.length > 0)
        await until(
          'it has ended',
          async () => (await countSleepers(database)) === 0 || runs.count('evt_3') > cancelled,
        )
    }
    await running

    const event = await worker.getEvent('evt_3')
    expect(event.outcome?.state).toBe('done')
    expect(event.failures[0]?.message).toContain('cancel')
    expect(await database.listWrongEffects(keys(5))).toEqual([])
  })

  test('H07: one that is chosen in a deadlock, or cannot be serialized, is tried again in place and loses no attempt', async () => {
    const { database, worker } = await prepare(1, { groupMax: 1 })
    await database.query('create table accounts (id integer primary key, n integer)')
    await database.query('insert into accounts values (1, 0), (2, 0)')
    const other = await connectTo(database)
    await other.query(
      `begin; set local deadlock_timeout = '60s'; update accounts set n = n + 1 where id = 2`,
    )
    const runs = countRuns()
    let crossing: Promise<unknown> = Promise.resolve()
    worker.inbox.on('partner', '*', AT_ONCE, async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      const run = runs.next(event.key)
      await tx.query('update accounts set n = n + 10 where id = 1')
      if (run === 1) {
        crossing = other.query('update accounts set n = n + 1 where id = 1; commit')
        await until('the other one waits for us', async () => (await countWaiting(database)) === 1)
      }
      await tx.query('update accounts set n = n + 10 where id = 2')
      if (run === 2)
        await tx.query(`do $$ begin raise exception 'again' using errcode = '40001'; end $$`)
    })

    await runAll(worker, 1)
    await crossing

    expect(runs.count('evt_0')).toBe(3)
    const event = await worker.getEvent('evt_0')
    expect(event.outcome).toMatchObject({ state: 'done', attempts: 1 })
    expect(event.failures).toEqual([])
    expect(await database.countEffects()).toBe(1)
    expect(await database.query('select n from accounts order by id')).toEqual([
      { n: 11 },
      { n: 11 },
    ])
  })

  test('H10: one that takes too long is cancelled in the database, and nothing it wrote is kept', async () => {
    const { database, worker } = await prepare(3, { hanging: 'evt_1' })
    const runs = countRuns()
    const aborted: unknown[] = []
    worker.inbox.on('partner', 'thing.happened', AT_ONCE, (event, { tx }) =>
      tx.query(WRITE, [event.key, 'ran']),
    )
    worker.inbox.on('partner', HANGS, SHORT, async (event, { tx, signal }) => {
      const isLate = runs.next(event.key) <= 1
      if (isLate) signal.addEventListener('abort', () => aborted.push(signal.reason))
      await tx.query(WRITE, [event.key, 'ran'])
      if (isLate) await tx.query('select pg_sleep(60)')
    })

    await runAll(worker, 3)

    expect(await countSleepers(database)).toBe(0)
    const event = await worker.getEvent('evt_1')
    expectTimedOut(event, 'postgres')
    if (event.failures[0]?.reason === 'timeout') expect(aborted.length).toBe(1)
    expect(await database.listWrongEffects(keys(3))).toEqual([])
  })

  test('H13: one whose COMMIT is refused by a deferred constraint is tried again, and its neighbours are done once', async () => {
    const { database, worker } = await prepare(5)
    await database.query('create table parents (id integer primary key)')
    await database.query(
      'create table children (parent integer references parents deferrable initially deferred)',
    )
    const runs = countRuns()
    worker.inbox.on('partner', '*', AT_ONCE, async (event, { tx, attempt }) => {
      runs.next(event.key)
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key === 'evt_4' && attempt === 1) await tx.query('insert into children values (7)')
    })

    await runAll(worker, 5)

    const event = await worker.getEvent('evt_4')
    expect(event.failures).toMatchObject([{ attempt: 1, reason: 'commit' }])
    expect(event.outcome).toMatchObject({ state: 'done', attempts: 2 })
    for (const key of keys(4)) expect((await worker.getEvent(key)).failures).toEqual([])
    expect(await database.listWrongEffects(keys(5))).toEqual([])
    expect(await database.query('select * from children')).toEqual([])
  })
})

describe.each(ENGINES)('a handler that fails on %s', (engine) => {
  test('H14: one that violates a unique constraint has failed; it is not taken for done', async () => {
    const { database, worker } = await prepare(3, {}, engine)
    await database.query('create table invoices (id text primary key)')
    await database.query(`insert into invoices values ('taken')`)
    worker.inbox.on(
      'partner',
      '*',
      { retry: { firstMs: 1, factor: 1, attemptsMax: 2 } },
      async (event, { tx }) => {
        await tx.query(WRITE, [event.key, 'ran'])
        if (event.key === 'evt_1') await tx.query(`insert into invoices values ('taken')`)
      },
    )

    await runAll(worker, 2)
    await worker.untilHappened('event.dead', 'evt_1')

    const event = await worker.getEvent('evt_1')
    expect(event).toMatchObject({ state: 'dead', outcome: { attempts: 2 } })
    expect(event.failures.map(({ reason }) => reason)).toEqual(['error', 'error'])
    expect(await database.countEffects('evt_1')).toBe(0)
    expect(await database.listWrongEffects(['evt_0', 'evt_2'])).toEqual([])
  })

  test('H09: a statement after the handler has returned is refused, and one it did not wait for is part of the event', async () => {
    const { database, worker } = await prepare(1, {}, engine)
    let kept: QueryTx | undefined
    worker.inbox.on('partner', '*', (event, { tx }) => {
      kept = tx
      void tx.query(WRITE, [event.key, 'not waited for'])
    })

    await runAll(worker, 1)

    await expect(kept!.query(WRITE, ['evt_0', 'late'])).rejects.toMatchObject({
      code: 'TX_REVOKED',
    })
    expect(await database.query('select note from effects')).toEqual([{ note: 'not waited for' }])
  })

  test('H10: a handler that never ends is given up at its timeout, and what it wrote is rolled back', async () => {
    const { database, worker } = await prepare(2, { hanging: 'evt_0' }, engine)
    const runs = countRuns()
    let late: Promise<unknown> = Promise.resolve()
    worker.inbox.on('partner', 'thing.happened', AT_ONCE, (event, { tx }) =>
      tx.query(WRITE, [event.key, 'ran']),
    )
    worker.inbox.on('partner', HANGS, SHORT, async (event, { tx, signal, attempt }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      await tx.query(WRITE, [event.key, `attempt ${attempt}`])
      if (runs.next(event.key) > 1) return
      await aborted
      late = tx.query(WRITE, [event.key, 'after the timeout'])
      await late
    })

    await runAll(worker, 2)

    await expect(late).rejects.toMatchObject({ code: 'TX_REVOKED' })
    expectTimedOut(await worker.getEvent('evt_0'), engine)
    expect(await database.listWrongEffects(keys(2))).toEqual([])
  })
})

/** Once on purpose. A machine may be so busy that the next attempt is too late as well. */
function expectTimedOut({ failures }: EventRecord, engine: FaultDatabase['engine']): void {
  // PostgreSQL ends a session that says nothing for as long, and may be faster than this process.
  const reasons = engine === 'postgres' ? ['timeout', 'connection'] : ['timeout']
  expect(failures[0]).toMatchObject({ attempt: 1 })
  expect(failures.filter(({ reason }) => !reasons.includes(reason))).toEqual([])
}

/** A worker that is not started yet, and events that wait for it. */
async function prepare(
  count: number,
  { hanging, ...options }: { readonly groupMax?: number; readonly hanging?: string } = {},
  engine: FaultDatabase['engine'] = 'postgres',
): Promise<{ database: FaultDatabase; worker: FaultInbox }> {
  const database = await createFaultDatabase(engine)
  const worker = createFaultInbox(database, {
    worker: { concurrency: 1, groupBudgetMs: 60_000, ...options },
  })
  const typeOf = (key: string) => (key === hanging ? { type: HANGS } : {})
  await Promise.all(keys(count).map((key) => accept(worker, fromPartner({ key, ...typeOf(key) }))))
  return { database, worker }
}

async function runAll(worker: FaultInbox, count: number): Promise<void> {
  await worker.inbox.start()
  await until(`${count} events are done`, () => worker.count('event.done') >= count)
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `evt_${i}`)
}

function countRuns() {
  const runs = new Map<string, number>()
  return {
    next: (key: string) => {
      runs.set(key, (runs.get(key) ?? 0) + 1)
      return runs.get(key) ?? 0
    },
    count: (key: string) => runs.get(key) ?? 0,
  }
}

async function connectTo(database: FaultDatabase): Promise<pg.Client> {
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const client = new pg.Client(database.store.connection)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function countSleepers(database: FaultDatabase): Promise<number> {
  const rows = await database.query(
    `select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query = 'select pg_sleep(60)'`,
  )
  return rows.length
}

async function countWaiting(database: FaultDatabase): Promise<number> {
  const rows = await database.query(
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}
