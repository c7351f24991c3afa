import { topicOf } from '../../../src/model/topic.ts'
import { describe, expect, test } from 'vitest'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import type { ClaimedEvent } from '../../../src/store/contract/claimed-event.ts'
import type { Settlement } from '../../../src/model/outcome.ts'
import { aClaim, anEventDraft, DRAFTED } from '../../support/builders.ts'
import {
  hasNoPostgres,
  newPool,
  openPostgres,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'

const DEADLINE = { deadlineMs: 20_000 }
const done = ({ eventId, run, attempt }: ClaimedEvent): Settlement => ({
  state: 'done',
  eventId,
  run,
  attempt,
  durationMs: 1,
  result: undefined,
})

async function recordMany(store: PostgresStore, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, (_, n) => anEventDraft({ key: `evt_${n}` }))
  await store.events.record(drafts, DEADLINE)
}

describe.skipIf(hasNoPostgres)('claiming on PostgreSQL', () => {
  test.each([
    ['nested loops only', ['enable_hashjoin=off', 'enable_mergejoin=off', 'enable_material=off']],
    ['no index', ['enable_indexscan=off', 'enable_bitmapscan=off', 'enable_indexonlyscan=off']],
    [
      'no sequential scan and no sort',
      ['enable_seqscan=off', 'enable_sort=off', 'enable_hashagg=off'],
    ],
  ])('no more than the limit is locked by a plan with %s', async (_, settings) => {
    const { config, store, query } = await openPostgres()
    await recordMany(store, 500)
    const planned = await openStoreOn({
      ...config,
      options: settings.map((s) => `-c ${s}`).join(' '),
    })

    const group = await planned.queue.claim(aClaim({ limit: 10 }))

    expect(group?.events).toHaveLength(10)
    const free = await query('select event_id from hookonce.queue for update skip locked')
    expect(free).toHaveLength(490)
    await group?.abandon()
  })

  test('a plan that was made for a small queue is one that will do for a large one', async () => {
    const { store, config, query } = await openPostgres()
    await recordMany(store, 5)
    // From now on the planner knows that the table is small.
    await query('analyze hookonce.queue')
    const client = await newPool(config).connect()
    const scans: unknown[] = []
    for (let turn = 0; turn < 8; turn += 1) {
      await client.query('begin')
      const { rows } = await client.query<{ event_id: string }>(
        `select event_id from hookonce.claim_fresh('worker-1', 0, array[$1::bigint], '{5}', '{-infinity}', 5, 16777216)`,
        [topicOf(...DRAFTED)],
      )
      const ids = rows.map(({ event_id }) => event_id)
      const each = (value: unknown) => ids.map(() => value)
      const nothing = each(null)
      await client.query('select hookonce.settle_resting($1, $2, $3, $4, $5, $6, $7, $8)', [
        ...[ids, each(0), each('done'), each(1), nothing, each(1), nothing, nothing],
      ])
      const seen = await client.query<{ seq_scan: string }>(
        `select seq_scan from pg_stat_xact_user_tables where schemaname = 'hookonce' and relname = 'queue'`,
      )
      scans.push([ids.length, Number(seen.rows[0]?.seq_scan)])
      await client.query('rollback')
    }
    client.release()

    expect(scans).toEqual(Array.from({ length: 8 }, () => [5, 0]))
  })

  test('a COMMIT behind our back fails, and with it everything in the group', async () => {
    const { store, pool, query } = await openPostgres()
    await query('create table effects (note text)')
    await recordMany(store, 3)
    const group = await store.queue.claim(aClaim())
    await group!.lend().tx.query("insert into effects values ('once')")

    await expect(pool.lastGiven.query('commit')).rejects.toMatchObject({ code: '2D000' })

    // The driver tells of the error before it hears of the new status.
    await expect.poll(() => group!.status()).toBe('ended')
    await expect(group!.settle(group!.events.map(done))).rejects.toMatchObject({
      code: 'TRANSACTION_ENDED',
    })
    expect(await group!.commit()).toMatchObject({
      status: 'refused',
      error: { code: 'TRANSACTION_ENDED' },
    })
    expect(await query('select * from effects')).toEqual([])
    expect(await query('select count(*)::integer as queued from hookonce.queue')).toEqual([
      { queued: 3 },
    ])
  })

  test('a ROLLBACK and BEGIN behind our back settle nothing', async () => {
    const { store, pool, query } = await openPostgres()
    await recordMany(store, 3)
    const group = await store.queue.claim(aClaim())
    await pool.lastGiven.query('rollback')
    await pool.lastGiven.query('begin')

    expect(group!.status()).toBe('open')
    await expect(group!.settle(group!.events.map(done))).rejects.toMatchObject({
      code: 'TRANSACTION_ENDED',
    })

    expect(await group!.commit()).toMatchObject({ status: 'refused' })
    expect(await query('select count(*)::integer as queued from hookonce.queue')).toEqual([
      { queued: 3 },
    ])
  })

  test('a ROLLBACK and BEGIN between settling and our COMMIT are noticed', async () => {
    const { store, pool, query } = await openPostgres()
    await recordMany(store, 1)
    const group = await store.queue.claim(aClaim())
    await group!.settle(group!.events.map(done))
    await pool.lastGiven.query('rollback')
    await pool.lastGiven.query('begin')

    expect(await group!.commit()).toMatchObject({ status: 'refused' })

    expect(await query('select count(*)::integer as queued from hookonce.queue')).toEqual([
      { queued: 1 },
    ])
  })

  test('a swallowed error makes the group refuse to commit', async () => {
    const { store, query } = await openPostgres()
    await recordMany(store, 1)
    const group = await store.queue.claim(aClaim())
    await group!
      .lend()
      .tx.query('select 1 / 0')
      .catch(() => undefined)

    expect(group!.status()).toBe('failed')
    expect(await group!.commit()).toMatchObject({
      status: 'refused',
      error: { code: 'TRANSACTION_ABORTED' },
    })

    expect(await query('select count(*)::integer as queued from hookonce.queue')).toEqual([
      { queued: 1 },
    ])
  })

  test('a statement that runs too long can be stopped from outside', async () => {
    const { store } = await openPostgres()
    await recordMany(store, 1)
    const group = await store.queue.claim(aClaim())
    const sleeping = group!.lend().tx.query('select pg_sleep(600)')

    // The cancel may arrive before the statement does, and then stops nothing.
    const stopped = sleeping.catch((error: unknown) => error)
    let isStopped = false
    void stopped.then(() => (isStopped = true))
    while (!isStopped) await group!.cancel()

    expect(await stopped).toMatchObject({ code: '57014' })
    await group!.abandon()
  })

  test('a terminated backend is a lost group, and the next claim gets the event', async () => {
    const { store, pool, query } = await openPostgres()
    await recordMany(store, 1)
    const group = await store.queue.claim(aClaim())
    const ended = new Promise((resolve) => pool.lastGiven.once('end', resolve))
    const [backend] = await query(
      "select pid from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
    )
    await query('select pg_terminate_backend($1)', [backend?.['pid']])
    await ended

    expect(group!.status()).toBe('lost')
    await group!.abandon()
    const next = await store.queue.claim(aClaim())
    expect(next?.events).toHaveLength(1)
    await next?.abandon()
  })

  test('a cursor, a callback and a non-list of values are refused', async () => {
    const { store } = await openPostgres()
    await recordMany(store, 1)
    const group = await store.queue.claim(aClaim())
    const { tx } = group!.lend()

    for (const odd of [
      { submit: () => undefined, text: 'select 1' },
      { values: [] },
      7,
      undefined,
    ]) {
      await expect((async () => tx.query(odd as unknown as string))()).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
    }
    // At the call: who gives a callback waits for no promise.
    expect(() => tx.query('select 1', (() => undefined) as unknown as [])).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
    await expect(tx.query('set work_mem = 1')).rejects.toMatchObject({
      code: 'TRANSACTION_CONTROL',
    })
    await group!.abandon()
  })
})
