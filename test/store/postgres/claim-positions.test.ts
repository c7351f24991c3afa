/**
 * A process claims from a position below which it found nothing due. What becomes due below it must not be left there.
 */

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import pg from 'pg'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'
import { claim, done } from '../../support/store-steps.ts'

const MANY = 20

async function recordMany(store: PostgresStore, name: string, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, (_, n) => anEventDraft({ key: `${name}_${n}` }))
  await store.events.record(drafts, { deadlineMs: 20_000 })
}

/** Claims and settles until nothing is due; the keys in the order in which they were claimed. */
async function drain(store: PostgresStore, limit: number): Promise<string[]> {
  const keys: string[] = []
  for (;;) {
    const group = await store.queue.claim(aClaim({ limit }))
    if (group === undefined) return keys
    keys.push(...group.events.map(({ key }) => key))
    await group.settle(group.events.map(done))
    expect(await group.commit()).toEqual({ status: 'committed' })
  }
}

async function connect(config: ConnectionConfig): Promise<pg.Client> {
  const client = new pg.Client(config)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

describe.skipIf(hasNoPostgres)('claims that begin at a position', () => {
  test('leave nothing behind, and take everything in its order', async () => {
    const { store } = await openPostgres()
    await recordMany(store, 'evt', 100)

    const keys = await drain(store, 7)

    expect(keys).toEqual(Array.from({ length: 100 }, (_, n) => `evt_${n}`))
  })

  test('begin with a group that was abandoned, whatever else is due', async () => {
    const { store } = await openPostgres()
    await recordMany(store, 'old', 5)
    await recordMany(store, 'new', MANY)
    const group = await claim(store, { limit: 5 })
    expect(group.events.map(({ key }) => key)).toContain('old_0')
    await group.abandon()

    const keys = await drain(store, 1)

    expect(keys).toHaveLength(MANY + 5)
    expect(keys[0]).toBe('old_0')
  })

  test('begin with what another process has given back', async () => {
    const { store, config } = await openPostgres()
    await recordMany(store, 'old', 1)
    const holder = await connect(config)
    await holder.query('begin; select 1 from hookonce.queue for update')
    await recordMany(store, 'new', MANY)
    const first = await claim(store, { limit: 5 })
    expect(first.events[0]?.key).toBe('new_0')
    await first.abandon()
    await holder.query('rollback')

    const keys = await drain(store, 1)

    expect(keys).toHaveLength(MANY + 1)
    expect(keys[0]).toBe('old_0')
  })

  test('find a row that became visible after later ones were claimed', async () => {
    const { store, config, query } = await openPostgres()
    await recordMany(store, 'late', 1)
    await query('create table kept as select * from hookonce.queue')
    await query('delete from hookonce.queue')
    const slow = await connect(config)
    await slow.query('begin; insert into hookonce.queue select * from kept')
    await recordMany(store, 'evt', MANY)
    const first = await claim(store, { limit: 5 })
    await first.settle(first.events.map(done))
    await first.commit()
    await slow.query('commit')

    const keys = await drain(store, 1)

    expect(keys).toHaveLength(MANY - 4)
    expect(keys[0]).toBe('late_0')
  })

  test('find one that is further behind than any transaction should take', async () => {
    // The clock by which the whole queue is looked at stands still.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { store, query } = await openPostgres()
    await recordMany(store, 'far', 1)
    await query(
      `update hookonce.queue set run_at = run_at - interval '1 day', parked = 'quarantined'`,
    )
    await recordMany(store, 'evt', 10)
    const group = await claim(store, { limit: 5 })
    await query('update hookonce.queue set parked = null where parked is not null')

    const keys = await drain(store, 5)
    await group.abandon()

    expect(keys).toEqual(['evt_5', 'evt_6', 'evt_7', 'evt_8', 'evt_9', 'far_0'])
  })
})
