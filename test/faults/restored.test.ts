/**
 * A database that is an older state of itself: a copy of its files was put back under processes that run, or it was
 * restored to a point in time while none did.
 */

import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { destination, notSent } from '../../src/outbox/destination.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { addLedger } from '../support/faults/make-database.ts'
import { startAgain } from '../support/faults/start-again.ts'
import { until } from '../support/faults/until.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { createPostgres } from '../support/postgres/postgres-database.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import type { PostgresServer } from '../support/postgres/start-postgres.ts'

const LIMIT_MS = 180_000
/** How long the server is away for. A relay goes by what it has seen less than three seconds ago. */
const OUTAGE_MS = 3_500
const SOON = { retry: { firstMs: 1_000, factor: 1, attemptsMax: 1_000 } }

describe.skipIf(hasNoBinaries)('a PostgreSQL that was restored', () => {
  test(
    'P08: under running processes is told of, nothing is sent or taken for known until a person says so, and then under the same key',
    { timeout: LIMIT_MS },
    async () => {
      const server = await startServer()
      const { database } = await createOn(server)
      const sent: string[] = []
      let isUp = true
      const partner = destination('partner', SOON, ({ key }) => {
        if (!isUp) throw notSent('not now')
        sent.push(key)
      })
      const inbox = createFaultInbox(database, { worker: {}, relay: {}, destinations: [partner] })
      inbox.inbox.on('partner', '*', (event, { send }) => send('partner', {}, { key: event.key }))
      await inbox.inbox.start()
      await accept(inbox, fromPartner({ key: 'evt_1' }))
      await until('it is sent', () => sent.includes('evt_1'))
      isUp = false
      await accept(inbox, fromPartner({ key: 'evt_2' }))
      await inbox.untilHappened('message.failed', 'evt_2')

      const restore = await backUp(server)
      isUp = true
      await until('the second is sent', () => sent.includes('evt_2'))
      await sendUntilStored(inbox, 'evt_3')
      await until('the third is sent', () => sent.includes('evt_3'))
      await restore()
      const told = await inbox.untilHappened('store.went-back')

      expect(told.missing).toBeGreaterThan(0)
      expect(told.hint).toContain(`since: new Date('${told.since.toISOString()}')`)
      expect(sent).toEqual(['evt_1', 'evt_2', 'evt_3'])
      // This process has answered for it, and must not remember that.
      await until('it is stored again', async () => (await send(inbox, 'evt_3')) === 'accepted')
      await until('it waits to be sent', async () => (await database.count('message_queue')) === 2)
      expect(await inbox.inbox.admin.findUnfinished()).toMatchObject({
        wentBack: { since: told.since, until: told.until },
      })
      expect(sent).toEqual(['evt_1', 'evt_2', 'evt_3'])

      await inbox.inbox.admin.resume({ destination: 'partner' })
      await until('both are sent again', () => sent.length === 5)
      expect(sent.slice(3).toSorted()).toEqual(['evt_2', 'evt_3'])
    },
  )

  test('P08: under a process that stored nothing of what is lost is told of as well', async () => {
    const server = await startServer()
    const { database } = await createOn(server)
    const watching = createFaultInbox(database)
    await watching.inbox.start()
    const restore = await backUp(server)
    const storing = createFaultInbox(database)
    await storing.inbox.start()
    await accept(storing, fromPartner({ key: 'evt_1' }))
    await storing.inbox.stop()
    // What is lost is more than what the server writes when it starts.
    await run(server, 'select pg_switch_wal()')
    await untilLookedAt(watching)

    await restore()
    const told = await watching.untilHappened('store.went-back')

    expect(told).toMatchObject({ missing: 0, checked: 0 })
    expect(await database.count('events')).toBe(0)
  })

  test(
    'P08: to a point in time while no process ran is told of by the next that starts, once',
    { timeout: LIMIT_MS },
    async () => {
      const server = await startServer()
      const { database } = await createOn(server)
      const partner = destination('partner', () => undefined)
      const options = { worker: {}, relay: {}, destinations: [partner] }
      const before = createFaultInbox(database, options)
      before.inbox.on('partner', '*', () => undefined)
      await before.inbox.start()
      await accept(before, fromPartner({ key: 'evt_1' }))
      await before.untilHappened('event.done', 'evt_1')
      await before.inbox.stop()
      await beginAnotherTimeline(server)

      const first = createFaultInbox(database, options)
      await first.inbox.start()
      const second = createFaultInbox(database, options)
      await second.inbox.start()

      const told = await first.untilHappened('store.went-back')
      expect(told).toMatchObject({ missing: 0, checked: 0 })
      expect(told.since.getTime()).toBeGreaterThan(0)
      expect(told.since.getTime()).toBeLessThan(told.until.getTime())
      expect(await first.inbox.admin.listPauses()).toMatchObject([
        { kind: 'destination', name: 'partner' },
      ])
      expect(second.count('store.went-back')).toBe(0)
      expect((await second.inbox.admin.findUnfinished()).wentBack).toEqual({
        since: told.since,
        until: told.until,
        received: { count: expect.any(Number), isExact: true },
      })
    },
  )

  test('a restart, or a crash, is none', { timeout: LIMIT_MS }, async () => {
    const server = await startServer()
    const { database } = await createOn(server)
    const inbox = createFaultInbox(database)
    await inbox.inbox.start()
    await accept(inbox, fromPartner({ key: 'evt_1' }))
    for (const end of [() => server.stop('fast'), () => server.killAll()]) {
      await end()
      await startAgain(server)
      await sendUntilStored(inbox, `evt_${performance.now()}`)
      await untilLookedAt(inbox)
    }
    const later = createFaultInbox(database)
    await later.inbox.start()

    expect(inbox.count('store.went-back') + later.count('store.went-back')).toBe(0)
  })
})

async function startServer(): Promise<PostgresServer> {
  const server = await startPostgres()
  onTestFinished(() => server.dispose())
  return server
}

async function createOn(server: PostgresServer) {
  const made = await addLedger(await createPostgres(server.config))
  onTestFinished(() => made.drop().catch(() => undefined))
  return made
}

/** Copies the files of the server. Returns how to put them back. */
async function backUp(server: PostgresServer): Promise<() => Promise<void>> {
  const data = join(server.socketDir, 'data')
  const copy = join(server.socketDir, 'copy')
  await server.stop('fast')
  execFileSync('cp', ['-a', data, copy])
  await startAgain(server)
  return async () => {
    await server.killAll()
    await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS))
    rmSync(data, { recursive: true })
    execFileSync('cp', ['-a', copy, data])
    rmSync(join(data, 'postmaster.pid'), { force: true })
    await startAgain(server)
  }
}

/** As a restore to a point in time ends. */
async function beginAnotherTimeline(server: PostgresServer): Promise<void> {
  await server.stop('fast')
  writeFileSync(join(server.socketDir, 'data', 'standby.signal'), '')
  await startAgain(server)
  await run(server, 'select pg_promote(true, 60)')
}

async function run(server: PostgresServer, sql: string): Promise<void> {
  const client = new pg.Client(server.config)
  await client.connect()
  await client.query(sql)
  await client.end()
}

async function send({ inbox }: FaultInbox, key: string): Promise<string | undefined> {
  return (await inbox.receive('partner', fromPartner({ key }))).outcome
}

async function sendUntilStored(inbox: FaultInbox, key: string): Promise<void> {
  await until('it is served again', async () => (await send(inbox, key)) === 'accepted')
}

/** One look may have begun before, so two. */
async function untilLookedAt({ statements }: FaultInbox): Promise<void> {
  const looks = () => statements.filter((sql) => sql.includes('pg_is_in_recovery')).length
  const before = looks()
  await until('it has been looked at', () => looks() >= before + 2)
}
