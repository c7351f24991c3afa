import { describe, expect, onTestFinished, test } from 'vitest'
import pg from 'pg'
import { createInbox } from '../../../src/inbox/inbox.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { PgPool, PostgresStore } from '../../../src/store/postgres/index.ts'
import { recordOne } from '../../support/store-steps.ts'
import { anEventDraft } from '../../support/builders.ts'
import { createFaultSources } from '../../support/faults/fault-sources.ts'
import { until } from '../../support/faults/until.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../../support/postgres/open-postgres.ts'

describe.skipIf(hasNoPostgres)('a pool that is lent to a store', () => {
  test('C23: an idle connection that is terminated is heard by the user, and ends nothing', async () => {
    const config = await createPostgresDatabase()
    const pool = new pg.Pool({ ...config, max: 10 })
    onTestFinished(() => pool.end())
    const store = await openOn(pool)
    // Only the store listens yet.
    expect(pool.listenerCount('error')).toBe(1)
    const heard: Error[] = []
    pool.on('error', (error) => heard.push(error))

    await terminateOthers(newPool(config))
    await until('the user has heard', () => heard.length > 0)

    expect(heard[0]).toMatchObject({ code: '57P01' })
    expect((await recordOne(store, anEventDraft())).status).toBe('accepted')
  })

  test('C23: a store that is closed leaves no listener behind, and none of another store is taken away', async () => {
    const pool = newPool({ ...(await createPostgresDatabase()), max: 10 })
    const own = pool.listenerCount('error')
    const ownOfClient = await countClientListeners(pool)
    const first = await openOn(pool)
    const second = await openOn(pool)
    expect(pool.listenerCount('error')).toBe(own + 2)

    await first.close()
    expect(pool.listenerCount('error')).toBe(own + 1)
    expect((await recordOne(second, anEventDraft())).status).toBe('accepted')
    await second.close()

    expect(pool.listenerCount('error')).toBe(own)
    expect(pool.idleCount).toBe(pool.totalCount)
    expect(await countClientListeners(pool)).toBe(ownOfClient)
  })

  test('C23: an inbox that could not start leaves no listener behind when it is stopped', async () => {
    const pool = newPool({ ...(await createPostgresDatabase()), database: 'no_such_database' })
    const own = pool.listenerCount('error')
    const inbox = createInbox({
      store: postgresStore({ pool }),
      sources: createFaultSources(),
      worker: false,
    })
    await expect(inbox.start()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })

    await inbox.stop()

    expect(pool.listenerCount('error')).toBe(own)
  })

  test.each([
    [
      'promises only',
      (pool: pg.Pool): PgPool['connect'] =>
        () =>
          pool.connect(),
    ],
    [
      'an async function around the callback',
      (pool: pg.Pool): PgPool['connect'] =>
        (async (...args: Parameters<pg.Pool['connect']>) => pool.connect(...args)) as never,
    ],
  ])('a pool whose connect is %s serves a store as well', async (_name, connectOf) => {
    const pool = newPool({ ...(await createPostgresDatabase()), max: 10 })
    const shaped: PgPool = {
      connect: connectOf(pool),
      query: (text, values) => pool.query(text, values),
    }
    const store = await openOn(shaped)

    expect((await recordOne(store, anEventDraft())).status).toBe('accepted')

    await store.close()
    expect(pool.idleCount).toBe(pool.totalCount)
  })

  test('a client that the pool has too late goes back to it', async () => {
    const pool = newPool({ ...(await createPostgresDatabase()), max: 1 })
    const store = await openOn(pool)
    const taken = await pool.connect()

    await expect(store.events.record([anEventDraft()], { deadlineMs: 50 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    taken.release()

    expect((await recordOne(store, anEventDraft())).status).toBe('accepted')
    expect(pool.idleCount).toBe(1)
  })
})

async function openOn(pool: PgPool): Promise<PostgresStore> {
  const store = postgresStore({ pool })
  onTestFinished(() => store.close())
  await store.open()
  return store
}

async function terminateOthers(pool: pg.Pool): Promise<void> {
  await pool.query(
    `select pg_terminate_backend(pid)
       from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
  )
}

/** Of a client that is lent: the pool has one of its own on those that are idle. */
async function countClientListeners(pool: pg.Pool): Promise<number> {
  const client = await pool.connect()
  try {
    return client.listenerCount('error')
  } finally {
    client.release()
  }
}
