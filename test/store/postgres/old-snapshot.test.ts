import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { QuarantineReason } from '../../../src/model/quarantine-reason.ts'
import { topicOf } from '../../../src/model/topic.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import type { ClaimInput } from '../../support/builders.ts'
import { aLane, sort } from '../../support/lane-steps.ts'
import { hasNoPostgres, newPool, openPostgres } from '../../support/postgres/open-postgres.ts'
import type { OpenedPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, DEADLINE_MS, done, retryIn, runOne } from '../../support/store-steps.ts'

const EVENTS = 2_000
const BATCH = 200
const ROUNDS = 20

/**
 * As if they had been due for an hour: claims begin some seconds before the last one that they found. Under another topic
 * until then, so that what this update leaves behind is not in their way.
 */
const MAKE_OLD = `
  update hookonce.queue set topic = $1, run_at = run_at - interval '1 hour' where topic = $2`
const TOPICS = [topicOf('stripe', 'invoice.paid'), topicOf('stripe', 'other')]

/** The same for what is stored as quarantined, which is in no index of claims until then. */
const RELEASE_OLD = `
  update hookonce.queue
     set parked = null, parked_reason = null, run_at = run_at - interval '1 hour'
   where parked = 'quarantined'`
/** As a sorter does it, but the event is due when it was, and not from now on. Each is alone in its lane. */
const SORT_OLD = `
  with sorted as (
         update hookonce.queue set lane_id = event_id, policy = 'block'
          where parked is null and lane_id is null
         returning lane_id)
  insert into hookonce.lanes (lane_id, source, key, mode)
  select lane_id, 'stripe', lane_id::text, 'fifo' from sorted`
const MAKE_RETRIES = `update hookonce.queue set attempts = 1 where parked = 'quarantined'`
const SETTLE_RETRIES = 'delete from hookonce.queue where attempts = 1'

/** It removes nothing, and from then on the planner takes the queue to be empty: so autovacuum does, at any time. */
const VACUUM = 'vacuum analyze hookonce.queue'

const READ_ENTRIES = `
  select sum(idx_tup_read)::integer as read
    from pg_stat_user_indexes
   where schemaname = 'hookonce' and indexrelname like 'queue%'`

/**
 * What is read of the index is not what was done before, of which each round would read all; what was done in the last
 * seconds is read.
 */
const RECENT_MAX = ROUNDS * 500

describe.skipIf(hasNoPostgres)('a transaction that is open for long elsewhere', () => {
  test('C17: makes no claim walk over what was done since', async () => {
    const { store, query, cost } = await openBesideSnapshot()
    const round = (name: string) => runSome(store, { name, count: 1 })
    await round('first')
    const fresh = await cost(round)

    // Everything is done, and none of it can be vacuumed.
    for (let at = 0; at < EVENTS; at += BATCH)
      await runSome(store, {
        name: `many_${at}`,
        count: BATCH,
        type: 'other',
        before: () => query(MAKE_OLD, TOPICS),
      })
    await query(VACUUM)
    const behind = await cost(round)

    expect(behind).toBeLessThan(3 * fresh + RECENT_MAX)
  })

  test('C17: makes no sorting, no claim of a head and no settling in a lane walk over it', async () => {
    const { store, query, cost } = await openBesideSnapshot()
    const round = async (name: string) => {
      await recordMany(store, { name, count: 1 })
      const sorted = await sort(store, {
        place: ({ key }) => ({ lane: aLane(key), policy: 'block' }),
      })
      expect(sorted).toHaveLength(1)
      await runOne(store, done, HEAD)
    }
    await round('first')
    const fresh = await cost(round)

    for (let at = 0; at < EVENTS; at += BATCH) {
      await recordMany(store, { name: `many_${at}`, count: BATCH, quarantine: 'no key' })
      await query(RELEASE_OLD)
      await query(SORT_OLD)
      await settleMany(store, { ...HEAD, limit: BATCH })
    }
    await query(VACUUM)
    const behind = await cost(round)

    expect(behind).toBeLessThan(3 * fresh + RECENT_MAX)
  })

  test('C17: makes no claim of a retry walk over it', async () => {
    const { store, query, cost } = await openBesideSnapshot()
    const round = async (name: string) => {
      await recordMany(store, { name, count: 1 })
      await runOne(store, retryIn(0))
      await runOne(store, done, { kind: 'again' })
    }
    await round('first')
    const fresh = await cost(round)

    await recordMany(store, { name: 'many', count: EVENTS, quarantine: 'no key' })
    await query(MAKE_RETRIES)
    await query(RELEASE_OLD)
    await query(SETTLE_RETRIES)
    await query(VACUUM)
    const behind = await cost(round)

    expect(behind).toBeLessThan(3 * fresh + RECENT_MAX)
  })
})

const HEAD = { kind: 'head' } as const

interface BesideSnapshot extends Pick<OpenedPostgres, 'query'> {
  readonly store: PostgresStore
  /** How many entries of the indexes of the queue are read by so many rounds. */
  cost(round: (name: string) => Promise<unknown>): Promise<number>
}

/** A store, while another connection has a snapshot of before, and the clock by which the whole queue is looked at stands still. */
async function openBesideSnapshot(): Promise<BesideSnapshot> {
  const { config, query } = await openPostgres()
  const holder = new pg.Client(config)
  await holder.connect()
  await holder.query('begin isolation level repeatable read; select 1')
  // Few connections, so that what they have counted can be asked for.
  const pool = newPool({ ...config, max: 2 })
  const store = postgresStore({ pool })
  await store.open()
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(async () => {
    vi.useRealTimers()
    await store.close()
    await holder.end()
  })
  const countRead = async (): Promise<number> => {
    const clients = await Promise.all([pool.connect(), pool.connect()])
    for (const client of clients) await client.query('select pg_stat_force_next_flush()')
    for (const client of clients) await client.query('select 1')
    for (const client of clients) client.release()
    // Of this connection as well: what the test itself has read is no part of any cost.
    await query('select pg_stat_force_next_flush()')
    return Number((await query(READ_ENTRIES))[0]?.['read'])
  }
  let rounds = 0
  return {
    store,
    query,
    cost: async (round) => {
      const before = await countRead()
      for (let nth = 0; nth < ROUNDS; nth += 1) await round(`round_${(rounds += 1)}`)
      return (await countRead()) - before
    },
  }
}

interface Many {
  readonly name: string
  readonly count: number
  readonly type?: string
  readonly quarantine?: QuarantineReason
}

async function recordMany(
  store: PostgresStore,
  { name, count, type = 'invoice.paid', quarantine }: Many,
): Promise<void> {
  const drafts = Array.from({ length: count }, (_, nth) =>
    anEventDraft({ key: `${name}_${nth}`, type, ...(quarantine !== undefined && { quarantine }) }),
  )
  await store.events.record(drafts, { deadlineMs: DEADLINE_MS })
}

/** Claims events, and settles them. */
async function settleMany(store: PostgresStore, request: ClaimInput): Promise<void> {
  const group = await claim(store, request)
  await group.settle(group.events.map(done))
  expect(await group.commit()).toEqual({ status: 'committed' })
}

interface Some extends Many {
  /** Between storing and claiming. */
  readonly before?: () => Promise<unknown>
}

/** Stores so many events, claims them and settles them. */
async function runSome(store: PostgresStore, { before, ...many }: Some): Promise<void> {
  await recordMany(store, many)
  await before?.()
  await settleMany(store, { limit: many.count })
}
