/**
 * Writes through whatever the pool lends: `pg` as it is, in its own pipeline mode, behind a pooler, with a time
 * limit for statements, and something that only behaves like it.
 */

import { Socket } from 'node:net'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import type { PgPool, PgPoolClient } from '../../../src/store/postgres/driver.ts'
import { anEventDraft } from '../../support/builders.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { findPgBouncer, startPgBouncer } from '../../support/postgres/start-pgbouncer.ts'
import { claim, done } from '../../support/store-steps.ts'

const NOTE = 'insert into notes (note) values ($1)'

async function openGroup(store: PostgresStore, pool: pg.Pool) {
  await pool.query('create table if not exists notes (id serial primary key, note text)')
  const drafts = Array.from({ length: 2 }, (_, n) => anEventDraft({ key: `evt_${n}` }))
  await store.events.record(drafts, { deadlineMs: 20_000 })
  const group = await claim(store)
  return {
    group,
    tx: group.lend().tx,
    end: async () => {
      await group.flush()
      await group.settle(group.events.map(done))
      return group.commit()
    },
    notes: async () => {
      const { rows } = await pool.query<{ note: string }>('select note from notes order by id')
      return rows.map(({ note }) => note)
    },
  }
}

/** Each sort of client with a pool that goes straight to the server. */
const CLIENTS: readonly (readonly [string, (config: pg.PoolConfig) => Promise<PostgresStore>])[] = [
  ['pg', (config) => openStoreOn(config)],
  ['pg in its own pipeline mode', (config) => openStoreOn({ ...config, pipeline: true })],
  [
    'pg with a time limit for statements',
    (config) => openStoreOn({ ...config, query_timeout: 20_000 }),
  ],
  [
    'pg on a stream that cannot be corked',
    (config) => openStoreOn({ ...config, stream: uncorkable }),
  ],
  ['something that behaves like pg', (config) => openByShape(config)],
]

describe.skipIf(hasNoPostgres)('writes through', () => {
  test.each(CLIENTS)('%s are sent in their order, with the values of the call', async (_, open) => {
    const config = await createPostgresDatabase()
    const store = await open({ ...config, max: 8 })
    const { group, tx, end, notes } = await openGroup(store, newPool(config))
    const data = Buffer.from('bytes')
    const object = { as: 'it was', list: [1, { deep: 'x' }] }
    const at = new Date(0)
    await group.setSavepoint('m')
    tx.write(NOTE, ['undone'])
    await group.flush()
    tx.write(NOTE, ['undone as well'])
    await group.rollbackTo('m')

    tx.write(NOTE, ['first'])
    tx.write(`insert into notes (note) values (convert_from($1::bytea, 'UTF8'))`, [data])
    tx.write(`insert into notes (note) values ($1::jsonb->>'as')`, [object])
    tx.write('insert into notes (note) values (extract(epoch from $1::timestamptz)::integer)', [at])
    data.fill('x')
    object.as = 'changed'
    at.setFullYear(2000)
    await tx.query(NOTE, ['waited for'])
    tx.write(NOTE, ['last'])

    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual(['first', 'bytes', 'it was', '0', 'waited for', 'last'])
  })

  test.each(CLIENTS)('%s fail with what the database said', async (_, open) => {
    const config = await createPostgresDatabase()
    const store = await open({ ...config, max: 8 })
    const { group, tx, end, notes } = await openGroup(store, newPool(config))
    await group.setSavepoint('m')
    tx.write(NOTE, ['not kept'])
    tx.write('insert into nowhere values ($1)', [1])
    tx.write(NOTE, ['not kept'])
    await expect(group.flush()).rejects.toMatchObject({ code: '42P01' })
    // The driver tells of the error before it hears of the new status.
    await expect.poll(() => group.status()).toBe('failed')
    await group.rollbackTo('m')
    tx.write('select 1; select 2')
    await expect(group.flush()).rejects.toThrow(/multiple commands/)
    await group.rollbackTo('m')

    tx.write(NOTE, ['kept'])

    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual(['kept'])
  })

  const binary = findPgBouncer()
  test.skipIf(binary === undefined)('a pooler in transaction mode are kept', async () => {
    const config = await createPostgresDatabase()
    const behind = await startPgBouncer(String(binary), config)
    const store = await openStoreOn({ ...behind, max: 8 })
    const pool = newPool(config)
    for (let turn = 0; turn < 3; turn += 1) {
      const { tx, end, notes } = await openGroup(store, pool)
      for (const n of [1, 2]) tx.write(NOTE, [`turn ${turn} ${n}`])
      await tx.query('select 1')
      tx.write('insert into notes (note) select $1', [`turn ${turn} 3`])
      expect(await end()).toEqual({ status: 'committed' })
      expect((await notes()).slice(-3)).toEqual([1, 2, 3].map((n) => `turn ${turn} ${n}`))
      await pool.query('truncate hookonce.keys')
    }
  })

  test('a client that behaves like pg stop where the transaction went back', async () => {
    const config = await createPostgresDatabase()
    const store = await openByShape({ ...config, max: 8 })
    const { group, tx, end, notes } = await openGroup(store, newPool(config))
    await group.setSavepoint('m')
    tx.write('select pg_sleep(0.3)')
    tx.write(NOTE, ['late'])
    const flushing = group.flush()

    await group.rollbackTo('m')
    await flushing

    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual([])
  })

  test('pg with a time limit for statements fail after it, and the store goes on', async () => {
    const config = await createPostgresDatabase()
    const pool = newPool(config)
    // Making the tables may take longer.
    await openStoreOn({ ...config, max: 8 })
    const store = await openStoreOn({ ...config, max: 8, query_timeout: 2_000 })
    const { group, tx } = await openGroup(store, pool)
    tx.write('select pg_sleep(600)')

    await expect(group.flush()).rejects.toThrow('Query read timeout')
    await group.cancel()
    await group.abandon()

    const again = await openAgain(store)
    again.group.lend().tx.write(NOTE, ['again'])
    expect(await again.end()).toEqual({ status: 'committed' })
    expect((await pool.query('select note from notes')).rows).toEqual([{ note: 'again' }])
  })

  test('a client whose query answers with a failed promise fail with it', async () => {
    let refuses = false
    class Refusing extends pg.Client {
      // The overloads are many; what is passed on is passed on as it came.
      override query(...args: unknown[]): never {
        const isSubmittable = typeof (args[0] as { submit?: unknown }).submit === 'function'
        if (refuses && isSubmittable) return Promise.reject(new Error('not for me')) as never
        return (super.query as (...all: unknown[]) => unknown)(...args) as never
      }
    }
    const config = await createPostgresDatabase()
    const store = await openStoreOn({ ...config, max: 8, Client: Refusing })
    const { group, tx } = await openGroup(store, newPool(config))
    tx.write(NOTE, ['refused'])
    refuses = true

    await expect(group.flush()).rejects.toThrow('not for me')
    await group.abandon()
  })
})

async function openAgain(store: PostgresStore) {
  const group = await claim(store)
  return {
    group,
    end: async () => {
      await group.flush()
      await group.settle(group.events.map(done))
      return group.commit()
    },
  }
}

function uncorkable(): Socket {
  return Object.assign(new Socket(), { cork: undefined, uncork: undefined })
}

/** Over a real pool, and with no more of its clients than the store's own types ask for. */
async function openByShape(config: pg.PoolConfig): Promise<PostgresStore> {
  const pool = newPool(config)
  const shaped: PgPool = {
    connect: async () => shapeOf(await pool.connect()),
    query: (text, values) => pool.query(text, values),
    options: { max: config.max },
  }
  const store = postgresStore({ pool: shaped })
  onTestFinished(() => store.close())
  await store.open()
  return store
}

function shapeOf(client: pg.PoolClient): PgPoolClient {
  const { getTransactionStatus } = client as unknown as { getTransactionStatus(): string | null }
  return {
    query: (sent) => client.query(sent as pg.QueryConfig),
    release: (destroy) => client.release(destroy),
    on: (event, listener) => client.on(event as 'error', listener),
    removeListener: (event, listener) => client.removeListener(event, listener),
    getTransactionStatus: () => getTransactionStatus.call(client),
  }
}
