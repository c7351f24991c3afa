import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { addLedger } from '../support/faults/make-database.ts'
import { createPostgres } from '../support/postgres/postgres-database.ts'
import type { FaultDatabase } from '../support/faults/make-database.ts'
import { startAgain } from '../support/faults/start-again.ts'
import { until } from '../support/faults/until.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import type { PostgresServer } from '../support/postgres/start-postgres.ts'

const WRITE = 'insert into effects values ($1, $2)'
const LOOK = `
  select current_setting('app.tenant', true) as setting, to_regclass('left_behind') as made
   where coalesce(current_setting('app.tenant', true), '') <> ''
      or to_regclass('left_behind') is not null`

// These stop and kill the server itself, so that it must be one of their own.
describe.skipIf(hasNoBinaries)('a PostgreSQL server that goes away', () => {
  let server: PostgresServer
  beforeAll(async () => {
    // A long delay keeps what was committed asynchronously in memory, where a crash loses it for certain.
    server = await startPostgres({ settings: { wal_writer_delay: '10s' } })
  })
  afterAll(() => server.dispose())

  test('R07: while it is stopped deliveries are 503 and the receiver is not ready; afterwards every retry is stored', async () => {
    const { database } = await createOn(server)
    const receiver = createFaultInbox(database, { receive: { answerTimeoutMs: 2_000 } })
    await receiver.inbox.start()
    const keys = Array.from({ length: 60 }, (_, i) => `evt_${i}`)
    const seen = new Map<string, number[]>()
    const send = (some: readonly string[]) =>
      Promise.all(some.map((key) => sendUntilStored(receiver, key, seen)))
    const before = send(keys.slice(0, 20))
    await until('some are stored', () => receiver.count('delivery.accepted') >= 5)

    await server.stop('immediate')
    const sending = Promise.all([before, send(keys.slice(20))])
    await until(
      'it is noticed',
      () => !receiver.inbox.isReady() && receiver.count('delivery.unavailable') >= 20,
    )
    const accepted = receiver.count('delivery.accepted')
    await until('more are refused', () => receiver.count('delivery.unavailable') >= 40)
    expect(receiver.count('delivery.accepted')).toBe(accepted)
    await startAgain(server)
    await sending

    expect([...new Set([...seen.values()].flat())].sort()).toEqual([200, 503])
    expect([...seen.values()].map((statuses) => statuses.at(-1))).toEqual(keys.map(() => 200))
    expect(await database.count('events')).toBe(60)
    await until('it is ready again', () => receiver.inbox.isReady())
    expect(receiver.count('store.unavailable')).toBe(1)
    expect(receiver.count('store.available')).toBe(1)
  })

  // One is stored by a call that commits by itself, the other in a transaction. Not beside each other: a
  // COMMIT that waits for the disk takes along what was committed before it.
  test.each(['partner', 'watched'] as const)(
    'R11: a crash right after the answers to %s loses none of them, though the role commits asynchronously',
    async (source) => {
      const { database, connection } = await createOn(server)
      const user = `hasty_${source}`
      await database.query(`create role ${user} login`)
      await database.query(`alter role ${user} set synchronous_commit = off`)
      await database.query(`alter database ${connection.database} owner to ${user}`)
      const receiver = createFaultInbox(database, { connection: { ...connection, user } })
      await receiver.inbox.admin.countEvents()
      const acknowledged: string[] = []
      let isOver = false
      const sending = Promise.all(
        Array.from({ length: 8 }, async (_, sender) => {
          for (let i = 0; !isOver; i += 1) {
            const key = `evt_${sender}_${i}`
            const { status } = await receiver.inbox.receive(source, fromPartner({ key }))
            if (status === 200) acknowledged.push(key)
          }
        }),
      )
      await until('300 are acknowledged', () => acknowledged.length >= 300, { everyMs: 1 })

      await server.killAll()
      isOver = true
      await sending
      await startAgain(server)

      const rows = await database.query(
        `select convert_from(event_key, 'UTF8') as key from hookonce.events`,
      )
      const stored = new Set(rows.map(({ key }) => String(key)))
      expect(acknowledged.filter((key) => !stored.has(key))).toEqual([])
      expect(rows.length).toBe(stored.size)
    },
  )

  // The one whose COMMIT is acknowledged wrote nothing of its own, and the disk has nothing of the other's yet.
  test.each(['partner', 'watched'] as const)(
    'R12: a duplicate of %s is durable when it is answered, though a foreign session stored the event asynchronously',
    async (source) => {
      const { database, connection } = await createOn(server)
      const first = createFaultInbox(database)
      const delivery = fromPartner({ key: 'evt_1' })
      await first.inbox.receive(source, delivery)
      for (const table of ['events', 'keys', 'queue']) {
        await database.query(`create table saved_${table} as select * from hookonce.${table}`)
        await database.query(`delete from hookonce.${table}`)
      }
      await database.query('checkpoint')
      const second = createFaultInbox(database)
      await second.inbox.admin.countEvents()
      const foreign = new pg.Client(connection)
      foreign.on('error', () => undefined)
      await foreign.connect()
      onTestFinished(() => foreign.end().catch(() => undefined))
      await foreign.query('set synchronous_commit = off; begin')
      for (const table of ['events', 'keys', 'queue'])
        await foreign.query(`insert into hookonce.${table} select * from saved_${table}`)
      await foreign.query('commit')

      const { status, outcome } = await second.inbox.receive(source, delivery)
      await server.killAll()
      await startAgain(server)

      expect([status, outcome]).toEqual([200, 'duplicate'])
      expect(await database.count('events')).toBe(1)
    },
  )

  test.each(['partner', 'watched'] as const)(
    'R13: a COMMIT of %s that stops waiting for its standby is 503 and no success',
    async (source) => {
      const { database } = await createOn(server)
      const receiver = createFaultInbox(database)
      await receiver.inbox.start()
      await receiver.inbox.receive(source, fromPartner({ key: 'evt_0' }))
      await setStandby(database, 'ghost')
      onTestFinished(() => setStandby(database, ''))
      await untilAllWaitFor('ghost', receiver.pool!)

      let isAnswered = false
      const answering = receiver.inbox
        .receive(source, fromPartner({ key: 'evt_1' }))
        .finally(() => (isAnswered = true))
      // Not only once: what waits first may be something else that the store writes.
      await until('it stops to wait for the standby', async () => {
        await cancelWaiting(database)
        return isAnswered
      })

      expect(await answering).toMatchObject({ status: 503 })
      await until('it is told', () => receiver.count('store.commit-unknown') > 0)
      await setStandby(database, '')
      expect(await receiver.inbox.receive(source, fromPartner({ key: 'evt_1' }))).toMatchObject({
        status: 200,
        outcome: 'duplicate',
      })
    },
  )

  test.each([
    ['a setting', `do $$ begin perform set_config('app.tenant', 'a', false); end $$`],
    ['a temporary table', 'create temp table left_behind (n integer)'],
  ])(
    'H40: %s that a handler leaves reaches no other user of the pool where its COMMIT stops waiting for its standby',
    async (_, leave) => {
      const { database, connection } = await createOn(server)
      const worker = createFaultInbox(database, {
        worker: { concurrency: 1, deadAfterMs: 600_000 },
      })
      await accept(worker, fromPartner({ key: 'evt_1' }))
      worker.inbox.on('partner', '*', { groupMax: 1 }, async (event, { tx }) => {
        await tx.query(WRITE, [event.key, 'ran'])
        await tx.query(leave)
        await setStandby(database, 'ghost')
        await untilCommitsWait(connection)
      })
      onTestFinished(() => setStandby(database, ''))
      await worker.inbox.start()

      await until('it stops to wait for the standby', async () => {
        await cancelWaiting(database)
        return worker.count('group.commit-unknown') > 0
      })
      await setStandby(database, '')
      await worker.inbox.stop()

      expect(await database.countEffects()).toBe(1)
      expect(await database.count('outcomes', `state = 'done'`)).toBe(1)
      const clients = await Promise.all(
        Array.from({ length: worker.pool!.totalCount }, () => worker.pool!.connect()),
      )
      const left = await Promise.all(clients.map((client) => client.query(LOOK)))
      for (const client of clients) client.release()
      expect(left.flatMap(({ rows }) => rows as unknown[])).toEqual([])
    },
  )

  test('C18: a restart in the middle of claims ends no process and doubles no effect', async () => {
    const { database } = await createOn(server)
    const keys = Array.from({ length: 100 }, (_, i) => `evt_${i}`)
    const worker = createFaultInbox(database, {
      worker: { concurrency: 4, groupMax: 5, deadAfterMs: 1_000 },
    })
    await Promise.all(keys.map((key) => accept(worker, fromPartner({ key }))))
    worker.inbox.on('partner', '*', { retry: { firstMs: 1, factor: 1 } }, async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      await tx.query('select pg_sleep(0.005)')
    })
    await worker.inbox.start()
    await until('some are done', () => worker.count('event.done') >= 10, { everyMs: 1 })

    await server.stop('immediate')
    await startAgain(server)
    await until(
      'nothing is left to do',
      async () => (await database.count('queue').catch(() => 1)) === 0,
    )

    expect(await database.listWrongEffects(keys)).toEqual([])
    expect(await database.count('outcomes', `state = 'done'`)).toBe(100)
    expect(
      worker.count('worker.error') +
        worker.count('group.given-back') +
        worker.count('event.failed'),
    ).toBeGreaterThan(0)
  })

  test('C20: a server in recovery takes nothing, and costs no event an attempt', async () => {
    const { database } = await createOn(server)
    const receiver = createFaultInbox(database)
    await receiver.inbox.start()
    const eventId = await accept(receiver, fromPartner({ key: 'evt_1' }))
    const worker = createFaultInbox(database, { worker: { concurrency: 1, deadAfterMs: 1_000 } })
    worker.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'ran']))
    await worker.inbox.start()
    await worker.untilHappened('event.done', 'evt_1')

    const signal = join(server.socketDir, 'data', 'standby.signal')
    writeFileSync(signal, '')
    onTestFinished(() => rmSync(signal, { force: true }))
    await server.stop('fast')
    await startAgain(server)
    const errors = worker.count('worker.error')
    expect(await receiver.inbox.receive('partner', fromPartner({ key: 'evt_2' }))).toMatchObject({
      status: 503,
    })
    await until('the worker has tried', () => worker.count('worker.error') > errors)
    const isAway = () => receiver.count('store.unavailable') > receiver.count('store.available')
    await until('the receiver knows', isAway)
    expect(receiver.inbox.isReady()).toBe(false)
    await promote(server, signal)
    await expect
      .poll(
        async () => (await receiver.inbox.receive('partner', fromPartner({ key: 'evt_2' }))).status,
      )
      .toBe(200)
    await worker.untilHappened('event.done', 'evt_2')

    await until('the receiver is ready', () => receiver.inbox.isReady())
    // Twice where it was noticed that the server had stopped, and then that it could be read.
    await until('it is told', () => !isAway())
    expect(receiver.count('store.available')).toBe(receiver.count('store.unavailable'))
    expect(await database.countEffects()).toBe(2)
    expect((await worker.getEvent('evt_2')).outcome).toMatchObject({ attempts: 1 })
    expect((await worker.inbox.admin.findEvent(eventId))?.failures).toEqual([])
  })
})

async function createOn(
  server: PostgresServer,
): Promise<{ database: FaultDatabase; connection: PostgresServer['config'] }> {
  const { database, drop } = await addLedger(await createPostgres(server.config))
  onTestFinished(drop)
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  return { database, connection: database.store.connection }
}

/** A sender that tries again until it is answered 200. */
async function sendUntilStored(
  receiver: FaultInbox,
  key: string,
  seen: Map<string, number[]>,
): Promise<void> {
  const statuses: number[] = []
  seen.set(key, statuses)
  while (statuses.at(-1) !== 200) {
    const { status } = await receiver.inbox.receive('partner', fromPartner({ key }))
    statuses.push(status)
    if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function promote(server: PostgresServer, signal: string): Promise<void> {
  const client = new pg.Client(server.config)
  await client.connect()
  await client.query('select pg_promote(true, 30)')
  await client.end()
  expect(existsSync(signal)).toBe(false)
}

/** Each server process reads a changed setting by itself, and one that has not commits without the standby. */
async function untilAllWaitFor(name: string, pool: pg.Pool): Promise<void> {
  const idle = Array.from({ length: pool.idleCount }, () => pool.connect())
  for (const client of await Promise.all(idle)) {
    await until('the server process has read the setting', async () => {
      const { rows } = await client.query<{ name: string }>(
        `select current_setting('synchronous_standby_names') as name`,
      )
      return rows[0]?.name === name
    })
    client.release()
  }
}

/**
 * That there is a standby to wait for is told to all sessions by one process of the server. To be called while
 * `cancelWaiting` goes on: a COMMIT that was cancelled in its wait answers with a notice.
 */
async function untilCommitsWait(connection: PostgresServer['config']): Promise<void> {
  const client = new pg.Client(connection)
  let hasWaited = false
  client.on('notice', () => (hasWaited = true))
  await client.connect()
  try {
    await until('a COMMIT has waited for the standby', async () => {
      await client.query(`select pg_logical_emit_message(true, 'test', '')`)
      return hasWaited
    })
  } finally {
    await client.end()
  }
}

async function cancelWaiting(database: FaultDatabase): Promise<void> {
  await database.query(
    `select pg_cancel_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event = 'SyncRep'`,
  )
}

/** Whom COMMIT waits for; none where it is empty. */
async function setStandby(database: FaultDatabase, name: string): Promise<void> {
  await database.query('set synchronous_commit = local')
  await database.query(`alter system set synchronous_standby_names = '${name}'`)
  await database.query('select pg_reload_conf()')
  await until('the setting is there', async () => {
    const rows = await database.query(`select current_setting('synchronous_standby_names') as name`)
    return rows[0]?.['name'] === name
  })
}
