/**
 * A store that answers and cannot write. A load balancer that asks whether the receiver is ready is told, and
 * an alarm goes off: once, with the cause.
 */

import { randomBytes } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import { createMetrics } from '../../src/metrics/index.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner, fromPartnerBytes } from '../support/faults/fault-sources.ts'
import { addLedger } from '../support/faults/make-database.ts'
import { startAgain } from '../support/faults/start-again.ts'
import { createPostgres, usePostgres } from '../support/postgres/postgres-database.ts'
import { createSqlite } from '../support/sqlite-database.ts'
import { until } from '../support/faults/until.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { startPostgres, UNPRIVILEGED_ID } from '../support/postgres/start-postgres.ts'
import type { PostgresServer } from '../support/postgres/start-postgres.ts'
import {
  hasNoLockedFiles,
  hasNoSmallDisk,
  lockFiles,
  mountSmallDisk,
} from '../support/tools/small-disk.ts'

const LIMIT = { limitMs: 60_000 }
/** More than is left on a page that has room, and not to be compressed. */
const LARGE = randomBytes(75_000).toString('base64')

describe.skipIf(hasNoSmallDisk || hasNoBinaries)('PostgreSQL on a disk that is full', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.dispose())

  test('R09: deliveries are 503 and the receiver is not ready, told once; with room again both are over', async () => {
    const disk = mountSmallDisk(48 * 1024 * 1024, UNPRIVILEGED_ID)
    const database = await createOnDisk(server, disk.dir)
    const receiver = createFaultInbox(database)
    await receiver.inbox.start()
    await expectFullDisk(receiver, disk)

    expect(findTold(receiver)).toMatch(/53100.*space/)
    expect(await database.count('events')).toBe(3)
  }, 120_000)
})

describe.skipIf(hasNoSmallDisk || hasNoBinaries)('PostgreSQL whose log has no room', () => {
  test('R10: deliveries in flight are 503, and after the recovery all that was acknowledged is there', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.dispose())
    const disk = mountSmallDisk(160 * 1024 * 1024, UNPRIVILEGED_ID)
    await server.stop('fast')
    const log = join(server.socketDir, 'data', 'pg_wal')
    execFileSync('cp', ['-a', `${log}/.`, disk.dir])
    rmSync(log, { recursive: true })
    symlinkSync(disk.dir, log)
    await server.start()
    const { database } = await addLedger(await createPostgres(server.config))
    const receiver = createFaultInbox(database)
    await receiver.inbox.start()
    const acknowledged: string[] = []
    let refused = 0
    const others: unknown[] = []
    let isOver = false
    const send = async (key: string) => {
      const body = JSON.stringify({ id: key, type: 'large', text: LARGE })
      const { status, headers } = await receiver.inbox.receive('partner', fromPartnerBytes(body))
      if (status === 200) acknowledged.push(key)
      else if (status === 503 && Number(headers['retry-after']) > 0) refused += 1
      else others.push({ status, headers })
    }
    const sending = Promise.all(
      Array.from({ length: 4 }, async (_, sender) => {
        for (let nth = 0; !isOver; nth += 1) await send(`evt_${sender}_${nth}`)
      }),
    )
    await until('some are acknowledged', () => acknowledged.length >= 20, LIMIT)

    disk.fill()
    await until('deliveries are refused', () => refused >= 20, LIMIT)
    const before = acknowledged.length
    isOver = true
    await sending
    disk.free()
    await server.stop('immediate').catch(() => undefined)
    await startAgain(server)
    await until('it is served again', async () => {
      const { status } = await receiver.inbox.receive('partner', fromPartner({ key: 'after' }))
      return status === 200
    })

    const rows = await database.query(
      `select convert_from(event_key, 'UTF8') as key from hookonce.events`,
    )
    const stored = new Set(rows.map(({ key }) => String(key)))
    expect(others).toEqual([])
    expect(before).toBeGreaterThan(0)
    expect(acknowledged.filter((key) => !stored.has(key))).toEqual([])
  }, 180_000)
})

describe.skipIf(hasNoSmallDisk)('SQLite on a disk that is full', () => {
  test('R09: deliveries are 503 and the receiver is not ready, told once; with room again both are over', async () => {
    const disk = mountSmallDisk(8 * 1024 * 1024)
    const { database, drop } = await addLedger(await createSqlite({ folder: disk.dir }))
    onTestFinished(drop)
    const receiver = createFaultInbox(database)
    await receiver.inbox.start()
    await expectFullDisk(receiver, disk)

    expect(findTold(receiver)).toMatch(/full.*SQLITE_FULL/)
    expect(await database.count('events')).toBe(3)
  }, 120_000)
})

describe.skipIf(hasNoLockedFiles)('a SQLite file that became read-only', () => {
  test('R71: a receiver without deliveries finds out, tells it once, and is ready when it can write again', async () => {
    // On a disk: files in memory cannot be locked.
    const folder = mkdtempSync(join(tmpdir(), 'hookonce-locked-'))
    const { database, drop } = await addLedger(await createSqlite({ folder }))
    onTestFinished(async () => {
      await drop()
      rmSync(folder, { recursive: true, force: true })
    })
    const receiver = createFaultInbox(database)
    await receiver.inbox.start()
    watch(receiver)
    expect(receiver.inbox.isReady()).toBe(true)

    const unlock = lockFiles(listFiles(database))
    await until('it is not ready', () => !receiver.inbox.isReady(), LIMIT)
    await until('it is told', () => receiver.count('store.unavailable') > 0, LIMIT)
    const refused = await receiver.inbox.receive('partner', fromPartner({ key: 'evt_1' }))
    expect(refused.status).toBe(503)
    expect(receiver.inbox.isReady()).toBe(false)

    expect(findTold(receiver)).toMatch(/SQLITE_(?:READONLY|IOERR|CANTOPEN|PERM)/)
    await expectMetrics(receiver, { ready: 0, outages: 1 })

    unlock()
    await until('it is ready again', () => receiver.inbox.isReady(), LIMIT)
    await expectMetrics(receiver, { ready: 1, outages: 1 })
    expect((await receiver.inbox.receive('partner', fromPartner({ key: 'evt_1' }))).status).toBe(
      200,
    )
    expect(receiver.count('store.unavailable')).toBe(1)
    expect(receiver.count('store.available')).toBe(1)
    expect(await database.count('events')).toBe(1)
  }, 120_000)
})

describe('PostgreSQL that writes, though something failed', () => {
  test('R71: one connection that is lost at COMMIT makes no alarm, and the receiver is ready again at once', async () => {
    const database = await createFaultDatabase('postgres')
    if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
    const proxy = await WireProxy.start(database.store.connection)
    const receiver = createFaultInbox(database, { connection: proxy.config })
    onTestFinished(() => proxy.close())
    await receiver.inbox.start()

    const { fired } = proxy.arm({ matches: /record_new/, fault: 'drop-after' })
    const { status } = await receiver.inbox.receive('partner', fromPartner({ key: 'evt_1' }))
    await fired
    expect(status).toBe(503)
    await until('it is ready again', () => receiver.inbox.isReady(), LIMIT)

    expect(receiver.count('store.unavailable')).toBe(0)
    expect(receiver.count('store.available')).toBe(0)
  })

  test('R71: a role that is read-only by default stores all the same, and the receiver is ready', async () => {
    const database = await createFaultDatabase('postgres')
    if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
    const connection = {
      ...database.store.connection,
      options: '-c default_transaction_read_only=on',
    }
    const receiver = createFaultInbox(database, { connection })
    await receiver.inbox.start()

    expect(receiver.inbox.isReady()).toBe(true)
    expect((await receiver.inbox.receive('partner', fromPartner({ key: 'evt_1' }))).status).toBe(
      200,
    )
    const kept = await database.query(`select value from hookonce.meta where name = 'clock'`)
    expect(kept).toHaveLength(1)
    expect(receiver.count('store.unavailable')).toBe(0)
  })
})

async function expectFullDisk(
  receiver: FaultInbox,
  disk: { fill(): void; free(): void },
): Promise<void> {
  const http = createReceiver(receiver.inbox)
  const { port } = await http.listen()
  onTestFinished(() => http.drain({ graceMs: 0 }))
  const readyz = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status
  const deliver = async (key: string) =>
    (await receiver.inbox.receive('partner', fromPartner({ key, type: LARGE }))).status
  watch(receiver)
  expect(await deliver('evt_1')).toBe(200)
  expect(await readyz()).toBe(200)
  await expectMetrics(receiver, { ready: 1, outages: 0 })

  disk.fill()
  expect(await deliver('evt_2')).toBe(503)
  expect(await readyz()).toBe(503)
  await until('it is told', () => receiver.count('store.unavailable') > 0, LIMIT)
  expect(await deliver('evt_3')).toBe(503)
  expect(await readyz()).toBe(503)
  await expectMetrics(receiver, { ready: 0, outages: 1 })

  disk.free()
  await until('it is ready again', async () => (await readyz()) === 200, LIMIT)
  await expectMetrics(receiver, { ready: 1, outages: 1 })
  expect(await deliver('evt_2')).toBe(200)
  expect(await deliver('evt_3')).toBe(200)
  expect(receiver.count('store.unavailable')).toBe(1)
  expect(receiver.count('store.available')).toBe(1)
}

const pages = new WeakMap<FaultInbox, ReturnType<typeof createMetrics>>()

function watch(receiver: FaultInbox): void {
  pages.set(receiver, createMetrics(receiver.inbox))
}

/** What the shipped alerts look at. The store can be read all the while, so that it is up. */
async function expectMetrics(
  receiver: FaultInbox,
  { ready, outages }: { readonly ready: number; readonly outages: number },
): Promise<void> {
  let lines: readonly string[] = []
  const read = async () => (lines = (await pages.get(receiver)!.render()).split('\n'))
  // A machine that is busy may take longer to look than the page waits for it.
  await expect.poll(read).toContain('hookonce_store_up 1')
  expect(lines).toContain(`hookonce_ready ${ready}`)
  expect(lines).toContain(`hookonce_store_outages_total ${outages}`)
}

/** The database's own words, in what was told of the outage. */
function findTold({ happened }: FaultInbox): string {
  const told = happened.find(({ name }) => name === 'store.unavailable')
  const { error } = (told?.about ?? {}) as { error?: { code?: string; message?: string } }
  return `${error?.code}: ${error?.message}`
}

/** A database whose tables are on that disk, and whose log is not: with that full the server would stop. */
async function createOnDisk(server: PostgresServer, dir: string): Promise<FaultDatabase> {
  const name = `small_${Math.floor(Math.random() * 2 ** 31)}`
  const admin = new pg.Client(server.config)
  await admin.connect()
  await admin.query(`create tablespace ${name} location '${dir}'`)
  await admin.query(`create database ${name} tablespace ${name}`)
  const made = usePostgres({ ...server.config, database: name }, async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.query(`drop tablespace ${name}`)
    await admin.end()
  })
  const { database, drop } = await addLedger(made)
  onTestFinished(drop)
  return database
}

function listFiles({ store }: FaultDatabase): readonly string[] {
  if (store.engine !== 'sqlite') throw new Error('This is for SQLite')
  // Not the index of the log, which SQLite keeps mapped into memory: to write there would end the process.
  return [store.file, `${store.file}-wal`].filter((file) => existsSync(file))
}
