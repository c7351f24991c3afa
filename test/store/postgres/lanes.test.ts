import { describe, expect, test } from 'vitest'
import { lockNumber } from '../../../src/store/postgres/lock-number.ts'
import { aClaim } from '../../support/builders.ts'
import { aLane, decide, recordKeys, sort, statesOf } from '../../support/lane-steps.ts'
import { hasNoPostgres, newPool, openPostgres } from '../../support/postgres/open-postgres.ts'
import { limitsIn, pruneRows } from '../../support/retention-steps.ts'
import { claim, done, NO_ORDER, runOne } from '../../support/store-steps.ts'

const PRUNE_LANES = `
  select hookonce.prune_lanes($1, '00000000-0000-0000-0000-000000000000', 10) as step`
const SORT_EVENTS = 'select hookonce.sort_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)'
const HEAD = { kind: 'head' } as const
const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const

describe.skipIf(hasNoPostgres)('lanes on PostgreSQL', () => {
  test('O03: one sorter of a source at a time', async () => {
    const { store, config } = await openPostgres()
    await recordKeys(store, ['K1'])
    const other = newPool({ ...config, max: 1 })
    const lock = [lockNumber('hookonce', 'sort stripe')]
    await other.query('select pg_advisory_lock($1)', lock)

    expect(await store.lanes.sort(await decide(store))).toEqual({ status: 'busy' })

    await other.query('select pg_advisory_unlock($1)', lock)
    expect(await sort(store)).toEqual(['K1'])
  })

  test('O03: an event that is committed later than a younger one is not lost', async () => {
    const { store, query } = await openPostgres()
    const [late = ''] = await recordKeys(store, ['K1'])
    // As if its insert were still on its way.
    const rows = await query('delete from hookonce.queue where event_id = $1 returning *', [late])
    await recordKeys(store, ['K2'])
    await sort(store)
    const first = await claim(store, HEAD)
    expect(first.events.map(({ key }) => key)).toEqual(['K2'])
    await first.settle(first.events.map(done))
    await first.commit()

    const { topic, bytes } = rows[0] as { topic: string; bytes: number }
    await query(
      'insert into hookonce.queue (event_id, topic, run_at, bytes) values ($1, $2, now(), $3)',
      [late, topic, bytes],
    )

    expect(await sort(store)).toEqual(['K1'])
    expect(await statesOf(store, [late])).toEqual(['ready'])
  })

  test('O01: what a group has run of a lane is settled at one moment, in whatever order its rows lie', async () => {
    const { store, query } = await openPostgres()
    await recordKeys(store, ['K1', 'K2', 'K3'])
    await sort(store)
    const group = await claim(store, { ...HEAD, fillsLanes: true, limit: 10 })
    expect(group.events.map(({ key }) => key)).toEqual(['K1', 'K2', 'K3'])
    await group.settle(group.events.map(done))
    expect(await group.commit()).toEqual({ status: 'committed' })

    // To the microsecond: rounded to milliseconds, times in the wrong order are seen once in a thousand runs.
    const found = await query(
      'select count(distinct settled_at)::integer as moments from hookonce.outcomes',
    )
    expect(found).toEqual([{ moments: 1 }])
  })

  test('an event that is parked while the one before it ends is not forgotten', async () => {
    const { store, config } = await openPostgres()
    await recordKeys(store, ['K1'])
    await sort(store)
    const [next = ''] = await recordKeys(store, ['K2'])
    const group = await claim(store, HEAD)
    // As a sorter that has the lane, and has not committed yet.
    const sorter = newPool({ ...config, max: 1 })
    await sorter.query('begin')
    await sorter.query('select hookonce.lock_lanes($1)', [[aLane('K').id]])
    await sorter.query(
      `update hookonce.queue set lane_id = $1, policy = 'block', parked = 'waiting' where event_id = $2`,
      [aLane('K').id, next],
    )

    const settled = group.settle(group.events.map(done)).then(() => group.commit())
    await expect.poll(() => countWaiting(sorter), { timeout: 30_000 }).toBeGreaterThan(0)
    await sorter.query('commit')

    expect(await settled).toEqual({ status: 'committed' })
    expect(await statesOf(store, [next])).toEqual(['ready'])
  })

  test('a lane that a pruner removes while an event is sorted into it is made anew', async () => {
    const { store, config } = await openPostgres()
    await recordKeys(store, ['K1'])
    await sort(store)
    await runOne(store, done, HEAD)
    const [next = ''] = await recordKeys(store, ['K2'])
    const pruner = newPool({ ...config, max: 1 })
    await pruner.query('begin')
    const { rows } = await pruner.query(PRUNE_LANES, [JSON.stringify(limitsIn(46))])
    expect(rows).toMatchObject([{ step: { removed: { lanes: 1 } } }])

    const sorted = sort(store)
    await expect.poll(() => countWaiting(pruner), { timeout: 30_000 }).toBeGreaterThan(0)
    await pruner.query('commit')

    expect(await sorted).toEqual(['K2'])
    expect(await statesOf(store, [next])).toEqual(['ready'])
  })

  test('a lane that an event is being sorted into is not removed', async () => {
    const { store, config, query } = await openPostgres()
    await recordKeys(store, ['K1'])
    await sort(store)
    await runOne(store, done, HEAD)
    await query(`update hookonce.lanes set used_at = used_at - interval '46 days'`)
    const [next = ''] = await recordKeys(store, ['K2'])
    // A sorter that has its lane, and waits for the row of the event.
    const holder = newPool({ ...config, max: 1 })
    await holder.query('begin')
    await holder.query('select 1 from hookonce.queue where event_id = $1 for update', [next])
    const sorter = newPool({ ...config, max: 1 })
    const { id, source, key, mode } = aLane('K')
    const place = [[next], [0], [id], [source], [key], [mode], [null], [null], [null], [null]]
    const sorting = sorter.query(SORT_EVENTS, [...place, ['block']])
    await expect.poll(() => countWaiting(holder), { timeout: 30_000 }).toBeGreaterThan(0)

    expect(await pruneRows(store, limitsIn(1))).toMatchObject({ lanes: 0 })
    await holder.query('commit')
    await sorting

    expect(await statesOf(store, [next])).toEqual(['ready'])
  })

  test.each(['pause', 'resume'] as const)(
    'a lane of another mode that is being made is part of a %s',
    async (action) => {
      const { store, config } = await openPostgres()
      await recordKeys(store, ['K1'])
      await sort(store)
      if (action === 'resume') await store.pauses.pause(LANE_K, NO_ORDER)
      const [made = ''] = await recordKeys(store, ['K2'])
      // A sorter that has written everything, and not committed it yet.
      const sorter = newPool({ ...config, max: 1 })
      await sorter.query('begin')
      const lock = [lockNumber('hookonce', 'sort stripe')]
      await sorter.query('select pg_advisory_xact_lock($1)', lock)
      const { id, source, key, mode } = aLane('K', 'latest')
      const place = [[made], [0], [id], [source], [key], [mode], [null], [null], ['n1'], [null]]
      await sorter.query(SORT_EVENTS, [...place, [null]])

      let isDone = false
      const acted = store.pauses[action](LANE_K, NO_ORDER).finally(() => {
        isDone = true
      })
      await expect
        .poll(async () => isDone || (await countWaiting(sorter)) > 0, { timeout: 30_000 })
        .toBe(true)
      await sorter.query('commit')

      expect(await acted).toEqual({ status: 'done' })
      expect(await statesOf(store, [made])).toEqual([action === 'pause' ? 'waiting' : 'ready'])
      expect(await store.pauses.list()).toHaveLength(action === 'pause' ? 1 : 0)
    },
  )

  test.each(['pause', 'resume'] as const)(
    'a lane that is made by what an event frees is part of a %s',
    async (action) => {
      const { store } = await openPostgres()
      await recordKeys(store, ['K1'])
      await sort(store)
      if (action === 'resume') await store.pauses.pause(LANE_K, NO_ORDER)
      await recordKeys(store, ['L1'])
      const lane = aLane('K', 'after')
      const freed = { id: lane.id, source: 'stripe', key: 'K', type: 'user.created' }
      const group = await claim(store)
      const settled = group.events.map((event) => ({ ...done(event), frees: [freed] }))
      await group.settle(settled)

      // It does not see the lane, which is not committed.
      expect(await store.pauses[action](LANE_K, NO_ORDER)).toEqual({ status: 'done' })
      expect(await group.commit()).toEqual({ status: 'committed' })

      if (action === 'pause')
        expect(await store.pauses.pause(LANE_K, NO_ORDER)).toMatchObject({ code: 'PAUSED' })
      const [next = ''] = await recordKeys(store, ['K2'])
      await sort(store, { place: () => ({ lane, place: 'user.created', waitMs: 60_000 }) })
      expect(await statesOf(store, [next])).toEqual([action === 'pause' ? 'waiting' : 'ready'])
      expect(await store.pauses.list()).toHaveLength(action === 'pause' ? 1 : 0)
    },
  )

  test('O06: what a claim reads does not grow with what waits in lanes', async () => {
    const { store, query } = await openPostgres()
    await recordKeys(store, ['K1'])
    await sort(store)
    const before = await blocksOfClaim(query)

    await query(`
      insert into hookonce.queue (event_id, topic, run_at, bytes, parked, lane_id, policy)
      select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, q.topic, now() - interval '1 hour', 1,
             'waiting', md5((n % 1000)::text)::uuid, 'block'
        from hookonce.queue q, generate_series(1, 20000) n`)
    const after = await blocksOfClaim(query)

    expect(after).toBeLessThanOrEqual(2 * before + 20)
    const group = await store.queue.claim(aClaim(HEAD))
    expect(group?.events.map(({ key }) => key)).toEqual(['K1'])
    await group?.abandon()
  })
})

type Query = Awaited<ReturnType<typeof openPostgres>>['query']

/** How many blocks of eight kilobytes a claim of heads has looked at. */
async function blocksOfClaim(query: Query): Promise<number> {
  const { topics } = aClaim(HEAD)
  const sql = `explain (analyze, buffers, format json)
    select * from hookonce.claim_head('w', 0, array[${topics[0]?.topic}]::bigint[], array[10], array['-infinity']::timestamptz[], 10, 16777216)`
  const rows = await query(sql)
  const [plan] = rows[0]?.['QUERY PLAN'] as [{ Plan: Record<string, number> }]
  return (plan.Plan['Shared Hit Blocks'] ?? 0) + (plan.Plan['Shared Read Blocks'] ?? 0)
}

async function countWaiting(client: {
  query(sql: string): Promise<{ rows: unknown[] }>
}): Promise<number> {
  const { rows } = await client.query(
    'select 1 from pg_locks l where not l.granted and pg_backend_pid() = any(pg_blocking_pids(l.pid))',
  )
  return rows.length
}
