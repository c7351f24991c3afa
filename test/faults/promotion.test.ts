import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { addLedger } from '../support/faults/make-database.ts'
import { createPostgres } from '../support/postgres/postgres-database.ts'
import { startAgain } from '../support/faults/start-again.ts'
import { until } from '../support/faults/until.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import type { ConnectionConfig, PostgresServer } from '../support/postgres/start-postgres.ts'

const LIMIT_MS = 180_000

describe.skipIf(hasNoBinaries)('a standby that is promoted', () => {
  test(
    'R14: without the latest events is told of, and nothing is sent until a person says so',
    { timeout: LIMIT_MS },
    async () => {
      const { primary, standby } = await startPair()
      const { database } = await createOn(primary)
      const sent: string[] = []
      const partner = destination('partner', async ({ key }) => void sent.push(key))
      const inbox = createFaultInbox(database, {
        worker: {},
        relay: {},
        destinations: [partner],
      })
      inbox.inbox.on('partner', '*', (event, { send }) => send('partner', {}, { key: event.key }))
      await inbox.inbox.start()
      await accept(inbox, fromPartner({ key: 'evt_1' }))
      await until('it is sent', () => sent.includes('evt_1'))
      await copyToStandby(primary, standby)
      await until('it is served again', async () => (await send(inbox, 'evt_2')) === 200)
      // What was stored before a restart of the server is not remembered after the next look.
      await untilLookedAt(inbox)
      await accept(inbox, fromPartner({ key: 'evt_3' }))
      await until('the third is sent', () => sent.includes('evt_3'))
      // The standby has this, and is then away.
      await untilReplayed(primary, standby)
      await standby.stop('fast')
      await accept(inbox, fromPartner({ key: 'evt_4' }))
      await until('the fourth is sent', () => sent.includes('evt_4'))

      await primary.killAll()
      await standby.start()
      await promoteInstead(primary, standby)
      const { missing, checked } = await inbox.untilHappened('store.went-back')

      expect(missing).toBeGreaterThan(0)
      expect(missing).toBeLessThan(checked)
      expect(await database.count('events')).toBe(3)
      expect(inbox.count('destination.paused')).toBe(1)
      await until('it is served again', async () => (await send(inbox, 'evt_5')) === 200)
      await inbox.untilHappened('event.done', 'evt_5')
      await until('it waits to be sent', async () => (await database.count('message_queue')) > 0)
      expect(sent).not.toContain('evt_5')
      await inbox.inbox.admin.resume({ destination: 'partner' })
      await until('it is sent', () => sent.includes('evt_5'))
    },
  )

  test(
    'R14: with everything, because COMMIT waited for it, is nothing to tell of',
    { timeout: LIMIT_MS },
    async () => {
      const { primary, standby } = await startPair()
      const { database } = await createOn(primary)
      const inbox = createFaultInbox(database)
      await inbox.inbox.start()
      await accept(inbox, fromPartner({ key: 'evt_1' }))
      await copyToStandby(primary, standby)
      await waitForStandby(primary)
      await until('it is served again', async () => (await send(inbox, 'evt_2')) === 200)
      await untilLookedAt(inbox)

      await primary.killAll()
      await promoteInstead(primary, standby)
      await until('it is served again', async () => (await send(inbox, 'evt_3')) === 200)
      await untilLookedAt(inbox)

      expect(await database.count('events')).toBe(3)
      expect(inbox.count('store.went-back')).toBe(0)
    },
  )
})

async function send({ inbox }: FaultInbox, key: string): Promise<number> {
  return (await inbox.receive('partner', fromPartner({ key }))).status
}

/** One look may have begun before, so two. */
async function untilLookedAt({ statements }: FaultInbox): Promise<void> {
  const looks = () => statements.filter((sql) => sql.includes('pg_is_in_recovery')).length
  const before = looks()
  await until('it has been looked at', () => looks() >= before + 2)
}

async function createOn(server: PostgresServer) {
  const made = await addLedger(await createPostgres(server.config))
  onTestFinished(() => made.drop().catch(() => undefined))
  return made
}

/** The standby has a cluster of its own until `copyToStandby`. */
async function startPair(): Promise<{ primary: PostgresServer; standby: PostgresServer }> {
  const primary = await startPostgres()
  onTestFinished(() => primary.dispose())
  const { host, port } = primary.config
  const conninfo = `host=${host} port=${port} user=postgres application_name=standby`
  const standby = await startPostgres({ settings: { primary_conninfo: conninfo } })
  onTestFinished(() => standby.dispose())
  await standby.stop('fast')
  return { primary, standby }
}

async function copyToStandby(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  await primary.stop('fast')
  const to = join(standby.socketDir, 'data')
  rmSync(to, { recursive: true })
  execFileSync('cp', ['-a', join(primary.socketDir, 'data'), to])
  rmSync(join(to, 'postmaster.pid'), { force: true })
  writeFileSync(join(to, 'standby.signal'), '')
  await startAgain(primary)
  await standby.start()
}

async function untilReplayed(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [written] = await run(primary.config, 'select pg_current_wal_lsn()::text as lsn')
  const isReplayed = `select pg_last_wal_replay_lsn() >= '${String(written?.['lsn'])}' as it`
  await until('the standby has it', async () => {
    const [row] = await run(standby.config, isReplayed)
    return row?.['it'] === true
  })
}

/** From now on COMMIT waits for the standby. */
async function waitForStandby(primary: PostgresServer): Promise<void> {
  await run(primary.config, `alter system set synchronous_standby_names = 'standby'`)
  await run(primary.config, 'select pg_reload_conf()')
  await until('it is synchronous', async () => {
    const rows = await run(primary.config, 'select sync_state from pg_stat_replication')
    return rows[0]?.['sync_state'] === 'sync'
  })
}

/** Has the standby answer where the primary did. */
async function promoteInstead(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  await run(standby.config, 'select pg_promote(true, 60)')
  // It has the settings of the primary, and no standby of its own to wait for.
  await run(standby.config, `alter system reset synchronous_standby_names`)
  await run(standby.config, 'select pg_reload_conf()')
  const socket = `.s.PGSQL.${primary.config.port}`
  for (const file of [socket, `${socket}.lock`])
    rmSync(join(primary.socketDir, file), { force: true })
  symlinkSync(
    join(standby.socketDir, `.s.PGSQL.${standby.config.port}`),
    join(primary.socketDir, socket),
  )
}

async function run(config: ConnectionConfig, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(config)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}
