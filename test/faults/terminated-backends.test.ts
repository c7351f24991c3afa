/**
 * Backends that are terminated at any moment, also before there was a chance to listen
 * to a connection that the driver has handed out. What happens here happens in processes of its own: it is them that must survive.
 */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import type { Step } from '../support/faults/scripted-handler.ts'
import { addLedger } from '../support/faults/make-database.ts'
import { createPostgres } from '../support/postgres/postgres-database.ts'
import type { FaultDatabase } from '../support/faults/make-database.ts'
import { post } from '../support/faults/post.ts'
import { startAgain } from '../support/faults/start-again.ts'
import { slowTest } from '../support/slow-tests.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import type { Subject } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import type { ConnectionConfig, PostgresServer } from '../support/postgres/start-postgres.ts'

const WORKER = { concurrency: 16, groupMax: 1, deadAfterMs: 60_000 }
const HANDLER = { retry: { firstMs: 1, factor: 1, attemptsMax: 1_000 } }
const LIMIT = { limitMs: 120_000 }

describe('connections that are ended the moment they are made', () => {
  test.each(['worker', 'receiver'] as const)(
    'C23: ready and terminated in one piece do not end a %s, which goes on with the next',
    async (kind) => {
      const database = await createFaultDatabase('postgres')
      const proxy = await openProxy(database)
      const store = { engine: 'postgres', connection: proxy.config, poolMax: 24 } as const
      const config = { store, worker: WORKER, handler: HANDLER }
      const subject = await startSubject(kind, config)
      const other = await startSubject(kind === 'worker' ? 'receiver' : 'worker', {
        ...config,
        store: { ...store, connection: connectionOf(database) },
      })
      const receiver = kind === 'worker' ? other : subject

      proxy.endFresh(10)
      proxy.cut()
      await until('ten were ended', () => proxy.endings === 0 || !subject.isStarted, LIMIT)
      expect(subject.errors).toBe('')
      expect(subject.isStarted).toBe(true)

      await sendUntilStored(receiver, 'evt_1')
      await until('it ran', async () => (await database.countEffects('evt_1')) > 0, LIMIT)
      expect(await database.listWrongEffects(['evt_1'])).toEqual([])
    },
    180_000,
  )

  test('C23: every backend terminated again and again: no process ends, nothing is lost or doubled', async () => {
    const database = await createFaultDatabase('postgres')
    const { receiver, worker } = await startBoth(database)
    const keys = Array.from({ length: 60 }, (_, i) => `evt_${i}`)
    const sending = sendAll(receiver, keys)
    let terminated = 0
    await until(
      'many are terminated, or a process is gone',
      async () => {
        const [row] = await database.query(TERMINATE)
        terminated += Number(row?.['terminated'])
        return terminated >= 200 || !worker.isStarted || !receiver.isStarted
      },
      { ...LIMIT, everyMs: 50 },
    )
    await sending
    expectAlive(receiver, worker)

    await untilIdle(database)
    expect(await database.listWrongEffects(keys)).toEqual([])
  }, 300_000)
})

// It stops the server itself, so that it must be one of its own.
describe.skipIf(hasNoBinaries)('a server that is restarted again and again', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.dispose())

  slowTest(
    'C23: handlers that block the event loop meanwhile: no process ends, nothing is lost or doubled',
    async () => {
      const { database, drop } = await addLedger(await createPostgres(server.config))
      onTestFinished(drop)
      const { receiver, worker } = await startBoth(database)
      const keys = Array.from({ length: 100 }, (_, i) => `evt_${i}`)
      // What arrives while the loop is blocked is read in one piece.
      const steps: readonly Step[] = [
        ['block', 60],
        ['write', 'ran'],
      ]
      await sendAll(receiver, keys, steps)

      // Each time as soon as one of them has connected, which is when the others are about to.
      for (let restart = 1; restart <= 8; restart += 1) {
        await until(
          'one is connected, or they are gone',
          async () => {
            const found = await database.query(CONNECTED).catch(() => [])
            return found.length > 0 || !worker.isStarted
          },
          { ...LIMIT, everyMs: 1 },
        )
        await server.stop('fast')
        await startAgain(server)
      }
      expectAlive(receiver, worker)

      await untilIdle(database)
      expect(await database.listWrongEffects(keys)).toEqual([])
      expectAlive(receiver, worker)
    },
    300_000,
  )
})

const CONNECTED = `
  select pid
    from pg_stat_activity
   where datname = current_database() and application_name = 'subject'`

/** Not the connections of the test itself, which have no name. */
const TERMINATE = `
  select count(pg_terminate_backend(pid)) as terminated
    from pg_stat_activity
   where datname = current_database() and application_name = 'subject'`

async function startBoth(database: FaultDatabase): Promise<{ receiver: Subject; worker: Subject }> {
  const connection = { ...connectionOf(database), application_name: 'subject' }
  const store = { engine: 'postgres', connection, poolMax: 24 } as const
  const receiver = await startSubject('receiver', { store })
  const worker = await startSubject('worker', { store, worker: WORKER, handler: HANDLER })
  return { receiver, worker }
}

function connectionOf({ store }: FaultDatabase): ConnectionConfig {
  if (store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  return store.connection
}

async function openProxy(database: FaultDatabase): Promise<WireProxy> {
  const proxy = await WireProxy.start(connectionOf(database))
  onTestFinished(() => proxy.close())
  return proxy
}

/** Some at a time, each until it is stored. */
async function sendAll(
  receiver: Subject,
  keys: readonly string[],
  steps?: readonly Step[],
): Promise<void> {
  const waiting = [...keys]
  const send = async () => {
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift())
      await sendUntilStored(receiver, key, steps)
  }
  await Promise.all(Array.from({ length: 8 }, send))
}

async function sendUntilStored(
  receiver: Subject,
  key: string,
  steps?: readonly Step[],
): Promise<void> {
  const delivery = fromPartner({ key, ...(steps === undefined ? {} : { steps }) })
  await until(
    `${key} is stored`,
    async () => {
      if (!receiver.isStarted) throw new Error(`The receiver is gone: ${receiver.errors}`)
      return (await post(receiver.url, delivery)).status === 200
    },
    LIMIT,
  )
}

function expectAlive(...subjects: readonly Subject[]): void {
  expect(subjects.map(({ errors }) => errors)).toEqual(subjects.map(() => ''))
  expect(subjects.map(({ isStarted }) => isStarted)).toEqual(subjects.map(() => true))
}

async function untilIdle(database: FaultDatabase): Promise<void> {
  await until(
    'nothing is left to do',
    async () => (await database.count('queue').catch(() => 1)) === 0,
    LIMIT,
  )
}
