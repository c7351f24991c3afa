import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { topicOf } from '../../../src/model/topic.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, newPool, openPostgres } from '../../support/postgres/open-postgres.ts'
import { done } from '../../support/store-steps.ts'

const EVENTS = 2_000
const CLAIMS = 20

/**
 * As if they had been due for an hour: claims begin some seconds before the last one that they found. Under another topic
 * until then, so that what this update leaves behind is not in their way.
 */
const MAKE_OLD = `
  update hookonce.queue set topic = $1, run_at = run_at - interval '1 hour' where topic = $2`
const TOPICS = [topicOf('stripe', 'invoice.paid'), topicOf('stripe', 'other')]

const READ_ENTRIES = `
  select sum(idx_tup_read)::integer as read
    from pg_stat_user_indexes
   where schemaname = 'hookonce' and indexrelname like 'queue%'`

describe.skipIf(hasNoPostgres)('a transaction that is open for long elsewhere', () => {
  test('C17: makes no claim walk over what was done since', async () => {
    const { config, query } = await openPostgres()
    const holder = new pg.Client(config)
    await holder.connect()
    await holder.query('begin isolation level repeatable read; select 1')
    // One connection, so that what it has counted can be asked for.
    const pool = newPool({ ...config, max: 2 })
    const store = postgresStore({ pool })
    await store.open()
    // The clock by which the whole queue is looked at stands still.
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
      return Number((await query(READ_ENTRIES))[0]?.['read'])
    }
    const cost = async (): Promise<number> => {
      const before = await countRead()
      for (let nth = 0; nth < CLAIMS; nth += 1)
        await runSome(store, { name: `probe_${nth}_${Math.random()}`, count: 1 })
      return (await countRead()) - before
    }
    await runSome(store, { name: 'first', count: 1 })
    const fresh = await cost()

    // Everything is done, and none of it can be vacuumed.
    for (let at = 0; at < EVENTS; at += 200)
      await runSome(store, {
        name: `many_${at}`,
        count: 200,
        type: 'other',
        before: () => query(MAKE_OLD, TOPICS),
      })
    const behind = await cost()

    expect(behind).toBeLessThan(3 * fresh + CLAIMS * 200)
  })
})

interface Some {
  readonly name: string
  readonly count: number
  readonly type?: string
  /** Between storing and claiming. */
  readonly before?: () => Promise<unknown>
}

/** Stores so many events, claims them and settles them. */
async function runSome(
  store: PostgresStore,
  { name, count, type = 'invoice.paid', before }: Some,
): Promise<void> {
  const drafts = Array.from({ length: count }, (_, nth) =>
    anEventDraft({ key: `${name}_${nth}`, type }),
  )
  await store.events.record(drafts, { deadlineMs: 20_000 })
  await before?.()
  const group = await store.queue.claim(aClaim({ limit: count }))
  if (group === undefined) throw new Error('Something should have been due')
  await group.settle(group.events.map(done))
  expect(await group.commit()).toEqual({ status: 'committed' })
}
