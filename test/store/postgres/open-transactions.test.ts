import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createOperator } from '../../../src/index.ts'
import { createMetrics } from '../../../src/metrics/index.ts'
import { HappeningEmitter } from '../../../src/telemetry/emitter.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'
import {
  createRole,
  hasNoPostgres,
  newPool,
  openPostgres,
} from '../../support/postgres/open-postgres.ts'

const SNAPSHOT = 'begin isolation level repeatable read; select 1'

describe.skipIf(hasNoPostgres)('C17: what is open in the database', () => {
  test('is listed oldest first, with what it holds back, and gone when it ends', async () => {
    const { config, store, query } = await openPostgres()
    const first = await connect(config, 'a report')
    await first.query(SNAPSHOT)
    const second = await connect(config, 'idle')
    await second.query('begin; select 1')
    for (let at = 0; at < 3; at++) await query('select txid_current()')

    const open = await store.stats.listOpenTransactions(10)
    const now = await store.stats.now()

    const ofThese = open?.filter(({ application }) => application !== undefined)
    expect(ofThese).toEqual([
      {
        kind: 'session',
        name: await pidOf(first),
        role: config.user,
        application: 'a report',
        since: expect.any(Date) as Date,
        behind: expect.any(Number) as number,
      },
      {
        kind: 'session',
        name: await pidOf(second),
        role: config.user,
        application: 'idle',
        since: expect.any(Date) as Date,
        // It reads what is committed at each statement, and keeps nothing between them.
        behind: undefined,
      },
    ])
    expect(ofThese?.[0]?.behind).toBeGreaterThanOrEqual(3)
    expect(ofThese?.[0]?.since?.getTime()).toBeLessThanOrEqual(now.getTime())

    await first.query('rollback')
    await second.query('rollback')
    const left = await store.stats.listOpenTransactions(10)
    expect(left?.filter(({ application }) => application !== undefined)).toEqual([])
  })

  test('is the oldest, and what holds most back, where there is too much of it', async () => {
    const { config, store, query } = await openPostgres()
    const idle = await connect(config, 'oldest')
    await idle.query('begin; select 1')
    const reader = await connect(config, 'holds most')
    await reader.query(SNAPSHOT)
    await query('select txid_current()')
    const late = await connect(config, 'late')
    await late.query(SNAPSHOT)

    const open = await store.stats.listOpenTransactions(1)

    expect(open?.map(({ application }) => application)).toEqual(['oldest', 'holds most'])
  })

  test('shows a role without rights who it is and what it holds back, and not since when', async () => {
    const opened = await openPostgres()
    const role = await createRole(opened)
    await opened.query(
      `grant usage on schema hookonce to ${role.user};
       grant select on all tables in schema hookonce to ${role.user}`,
    )
    const other = await connect(opened.config, 'a report')
    await other.query(SNAPSHOT)
    const own = await connect(role, 'of the role')
    await own.query(SNAPSHOT)
    const store = postgresStore({ pool: newPool(role), migrate: 'check' })
    onTestFinished(() => store.close())
    await store.open()

    const open = await store.stats.listOpenTransactions(10)

    const named = (name: string) => open?.find(({ application }) => application === name)
    expect(named('a report')).toMatchObject({ role: opened.config.user, since: undefined })
    expect(named('a report')?.behind).toBeGreaterThanOrEqual(0)
    expect(named('of the role')?.since).toBeInstanceOf(Date)
  })

  test('is in the metrics by its age and by what it holds back', async () => {
    const { config, pool, query } = await openPostgres()
    const admin = createOperator({ store: postgresStore({ pool }) })
    onTestFinished(() => admin.close())
    const watched = { admin, sourceNames: [], isReady: () => true }
    const read = async (name: string) => {
      const metrics = createMetrics({ ...watched, events: new HappeningEmitter() })
      const line = (await metrics.render()).split('\n').find((each) => each.startsWith(`${name} `))
      return Number(line?.split(' ')[1])
    }
    const held = await connect(config, 'a report')
    await held.query(SNAPSHOT)
    const { rows } = await held.query<{ since: Date }>('select now() as since')
    for (let at = 0; at < 3; at++) await query('select txid_current()')

    const seconds = await read('hookonce_store_oldest_transaction_seconds')
    const [{ at }] = (await query('select clock_timestamp() as at')) as [{ at: Date }]

    expect(seconds).toBeGreaterThan(0)
    expect(seconds * 1_000).toBeLessThanOrEqual(at.getTime() - Number(rows[0]?.since) + 1)
    expect(await read('hookonce_store_held_back_transactions')).toBeGreaterThanOrEqual(3)
  })
})

async function connect(config: ConnectionConfig, name: string): Promise<pg.Client> {
  const client = new pg.Client({ ...config, application_name: name })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function pidOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return String(rows[0]?.pid)
}
