import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { destination } from '../../src/outbox/destination.ts'
import { hmac } from '../../src/providers/hmac.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { toSqlValue } from '../../src/store/sqlite/driver.ts'
import { PING_OPTIONS } from '../support/inbox-under-test.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../support/postgres/open-postgres.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const common = {
  sources: { pings: hmac(PING_OPTIONS) },
  worker: false,
  relay: false,
  destinations: [destination('mail', () => undefined)],
} as const

describe.skipIf(hasNoPostgres)('in a transaction of the user, on PostgreSQL', () => {
  async function open() {
    const config = await createPostgresDatabase()
    const pool = newPool({ ...config, max: 10 })
    const inbox = createInbox({ ...common, store: postgresStore({ pool }) })
    onTestFinished(() => inbox.stop())
    await inbox.start()
    const client = new pg.Client(config)
    await client.connect()
    onTestFinished(() => client.end())
    const count = async () => (await inbox.admin.listMessages({ state: 'ready' })).messages.length
    return { inbox, pool, client, count }
  }

  test('a message is there when that commits, and gone when it rolls back', async () => {
    const { inbox, client, count } = await open()

    await client.query('begin')
    const key = await inbox.outbox.send(client, 'mail', { a: 1 })
    expect(await count()).toBe(0)
    await client.query('commit')
    expect(await count()).toBe(1)

    await client.query('begin')
    await inbox.outbox.send(client, 'mail', { a: 2 })
    await client.query('rollback')
    expect(await count()).toBe(1)
    expect(key).toMatch(/^ho_[\w-]{43}$/)
  })

  test('the same key is one message, also from two transactions', async () => {
    const { inbox, client, count } = await open()

    for (const payload of [1, 2]) {
      await client.query('begin')
      expect(await inbox.outbox.send(client, 'mail', payload, { key: 'order-7' })).toBe('order-7')
      await client.query('commit')
    }

    expect(await count()).toBe(1)
  })

  test('a pool, and a client outside a transaction, are refused', async () => {
    const { inbox, pool, client, count } = await open()

    for (const tx of [pool, client])
      await expect(inbox.outbox.send(tx, 'mail', 1)).rejects.toMatchObject({
        code: 'TRANSACTION_EXPECTED',
      })
    expect(await count()).toBe(0)
  })
})

test('in a transaction of the user, on SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hookonce-outbox-'))
  const file = join(folder, 'app.db')
  const inbox = createInbox({ ...common, store: sqliteStore(file, { driver: 'libsql' }) })
  await inbox.start()
  const own = (await openDriver('libsql')).open(file)
  onTestFinished(async () => {
    own.close()
    await inbox.stop()
    await rm(folder, { recursive: true })
  })
  const tx = {
    query: async <Row>(sql: string, params: readonly unknown[] = []) =>
      own.prepare(sql).query(params.map(toSqlValue)) as { rows: Row[]; rowCount: number },
  }
  const count = async () => (await inbox.admin.listMessages({ state: 'ready' })).messages.length

  own.execute('begin immediate')
  await inbox.outbox.send(tx, 'mail', 1)
  expect(await count()).toBe(0)
  own.execute('commit')
  expect(await count()).toBe(1)
  own.execute('begin immediate')
  await inbox.outbox.send(tx, 'mail', 2)
  own.execute('rollback')
  expect(await count()).toBe(1)
  await expect(inbox.outbox.send({} as never, 'mail', 1)).rejects.toMatchObject({
    code: 'TRANSACTION_EXPECTED',
  })
})
