import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInboxOptions } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import { slowTest } from '../support/slow-tests.ts'
import { DEFAULT_DRIVER } from '../support/sqlite-under-test.ts'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import type { SqliteHandle } from '../../src/store/sqlite/driver.ts'
import { aSignal } from '../support/a-signal.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { GOODBYE_MS, INTERRUPTED_MS } from '../../src/flow/at-most.ts'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import { destination } from '../../src/outbox/destination.ts'
import { sign } from '../../src/testing/index.ts'
import type { QueryTx } from '../support/store-under-test.ts'

/**
 * Without grace periods this is all that an inbox waits for. One part after the other, each with its own time-outs, took
 * 27 to 88 seconds. The limit is twice the bound, by the time that this process has, which is little on a busy machine.
 */
const BOUND_MS = INTERRUPTED_MS + 2 * GOODBYE_MS
const WITHOUT_GRACE = { worker: { stopGraceMs: 0 }, relay: { stopGraceMs: 0 } }
const LIMIT = { limitMs: 2 * BOUND_MS }

describe('an inbox that is told to stop while PostgreSQL has gone silent', () => {
  slowTest(
    'R72: stops all the same, and the pool gets back what was taken from it',
    async () => {
      const { inbox, pool, proxy, count, untilHappened } = await startBehindProxy(WITHOUT_GRACE)
      inbox.on('partner', '*', () => undefined)
      await accept({ inbox }, fromPartner({ key: 'evt_1' }))
      await untilHappened('event.done', 'evt_1')

      proxy.silence()
      await until('it is noticed', () => count('store.unavailable') > 0)
      let hasStopped = false
      void inbox.stop().then(() => (hasStopped = true))

      // One time-out of a statement, and not one after the other of everything that would say goodbye.
      await until('it has stopped', () => hasStopped, LIMIT)
      await proxy.close()
      await until('the pool has it all', () => pool?.idleCount === pool?.totalCount)
    },
    300_000,
  )

  slowTest(
    'R72: has one bound for handlers, steps, messages and deliveries together',
    async () => {
      const answered = aSignal()
      const slow = destination('slow', () => answered.given)
      const { inbox, proxy, untilHappened } = await startBehindProxy({
        ...WITHOUT_GRACE,
        destinations: [slow],
      })
      const busy: string[] = []
      inbox.on('partner', 'query.*', async (event, { tx }) => {
        busy.push(event.key)
        await answered.given
        await tx.query('select 1')
      })
      inbox.steps('partner', 'steps.*', async (event, step) => {
        busy.push(event.key)
        await step.call('wait', () => answered.given)
      })
      inbox.on('partner', 'send.*', (event, { send }) => send('slow', {}, { key: event.key }))
      await accept({ inbox }, fromPartner({ key: 'evt_1', type: 'send.it' }))
      await untilHappened('event.done', 'evt_1')
      await accept({ inbox }, fromPartner({ key: 'evt_2', type: 'query.it' }))
      await accept({ inbox }, fromPartner({ key: 'evt_3', type: 'steps.it' }))
      await until('both run', () => busy.length === 2)

      proxy.silence()
      const delivery = inbox.receive('partner', fromPartner({ key: 'evt_4' }))
      answered.give()
      let hasStopped = false
      void inbox.stop().then(() => (hasStopped = true))

      await until('it has stopped', () => hasStopped, LIMIT)
      expect((await delivery).status).toBe(503)
      await proxy.close()
    },
    300_000,
  )
})

describe('a gateway that is told to stop while PostgreSQL has gone silent', () => {
  test('R72: has one bound for a reload, its handlers and its connections together', async () => {
    const { proxy } = await createBehindProxy()
    const [isRunning, isOver] = [aSignal(), aSignal()]
    const secret = 'whsec_0123456789abcdef'
    const configWith = (stopGraceMs: number) =>
      configSchema.parse({
        store: urlOf(proxy.config),
        roles: ['receive', 'work', 'relay'],
        sources: { partner: { provider: 'stripe', secrets: [secret] } },
        receive: { port: 0 },
        stopGraceMs,
      })
    const gateway = await startGateway({
      config: configWith(600_000),
      folder: tmpdir(),
      // It has a connection, and does not return it.
      prepare: (inbox) =>
        inbox.on('partner', '*', async (_, { tx }) => {
          await (tx as QueryTx).query('select 1')
          isRunning.give()
          await isOver.given
        }),
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    })
    await gateway.untilStarted()
    const { status } = await gateway.inbox.receive('partner', sign('stripe', {}, { secret }))
    expect(status).toBe(200)
    await isRunning.given

    // The inbox before it waits for its handler, for as long as the config before it says.
    const before = gateway.inbox
    const reloaded = gateway.reload(configWith(0))
    await until('the other inbox is in use', () => gateway.inbox !== before)
    proxy.silence()
    let hasStopped = false
    const stopped = gateway.stop().then(() => (hasStopped = true))

    await until('it has stopped', () => hasStopped, LIMIT)
    isOver.give()
    await proxy.close()
    await Promise.all([stopped, reloaded])
  }, 300_000)
})

describe('an inbox that is told to stop while another program holds its SQLite file', () => {
  test('R72: has one bound for handlers, steps, messages and deliveries together', async () => {
    const database = await createFaultDatabase('sqlite')
    if (database.store.engine !== 'sqlite') throw new Error('This is for SQLite')
    const answered = aSignal()
    const slow = destination('slow', () => answered.given)
    const { inbox, untilHappened } = createFaultInbox(database, {
      ...WITHOUT_GRACE,
      destinations: [slow],
    })
    const busy: string[] = []
    inbox.on('partner', 'query.*', { guarantee: 'at-least-once' }, async (event) => {
      busy.push(event.key)
      await answered.given
    })
    inbox.steps('partner', 'steps.*', async (event, step) => {
      busy.push(event.key)
      await step.call('wait', () => answered.given)
    })
    inbox.on('partner', 'send.*', (event, { send }) => send('slow', {}, { key: event.key }))
    await inbox.start()
    await accept({ inbox }, fromPartner({ key: 'evt_1', type: 'send.it' }))
    await untilHappened('event.done', 'evt_1')
    await accept({ inbox }, fromPartner({ key: 'evt_2', type: 'query.it' }))
    await accept({ inbox }, fromPartner({ key: 'evt_3', type: 'steps.it' }))
    await until('both run', () => busy.length === 2)

    const other = (await openDriver(DEFAULT_DRIVER)).open(database.store.file)
    onTestFinished(() => other.close())
    await until('the file is held', () => tryExecute(other, 'begin immediate'))
    const delivery = inbox.receive('partner', fromPartner({ key: 'evt_4' }))
    answered.give()
    let hasStopped = false
    void inbox.stop().then(() => (hasStopped = true))

    await until('it has stopped', () => hasStopped, LIMIT)
    expect((await delivery).status).toBe(503)
    other.execute('rollback')
  }, 300_000)
})

describe('runDue while PostgreSQL has gone silent', () => {
  test('R72: gives up when its time is over, and not when the store does', async () => {
    const { inbox, other, proxy } = await createBehindProxy()
    proxy.silence()
    const storeGivesUp = other.start().catch(() => 'the store')

    // The second would wait for what the first has begun.
    for (let call = 0; call < 2; call += 1)
      await expect(inbox.runDue({ budgetMs: 200 })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      })

    expect(await Promise.race([storeGivesUp, Promise.resolve('the calls')])).toBe('the calls')
    await proxy.close()
    await storeGivesUp
  }, 300_000)

  test('R72: a call after that runs what is due', async () => {
    const { inbox, proxy, database } = await createBehindProxy()
    const receiver = createFaultInbox(database)
    await accept(receiver, fromPartner({ key: 'evt_1' }))
    inbox.on('partner', '*', () => undefined)
    proxy.silence()
    await expect(inbox.runDue({ budgetMs: 200 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })

    proxy.speak()

    expect(await inbox.runDue({ budgetMs: 60_000 })).toMatchObject({ done: 1 })
  }, 300_000)

  test('R72: has one bound for the end of what runs', async () => {
    const { inbox, proxy, database } = await createBehindProxy()
    const receiver = createFaultInbox(database)
    await accept(receiver, fromPartner({ key: 'evt_1' }))
    inbox.on('partner', '*', async (_, { tx }) => {
      proxy.silence()
      await tx.query('select 1')
    })
    let isBack = false

    const due = inbox.runDue({ budgetMs: 5_000, graceMs: 0 })
    const back = due.catch(() => undefined).then(() => (isBack = true))

    await until('it is back', () => isBack, { limitMs: 5_000 + LIMIT.limitMs })
    await proxy.close()
    await back
  }, 300_000)
})

async function createBehindProxy() {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close().catch(() => undefined))
  const options = { connection: proxy.config, worker: {} }
  const { inbox } = createFaultInbox(database, options)
  const { inbox: other } = createFaultInbox(database, options)
  return { inbox, other, proxy, database }
}

/** A config names a store by its URL alone. */
function urlOf({ host, port, user, password, database }: ConnectionConfig): string {
  const login = [user, password].filter((part) => part !== undefined).join(':')
  return `postgres://${login}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}

function tryExecute(handle: SqliteHandle, sql: string): boolean {
  try {
    handle.execute(sql)
    return true
  } catch {
    return false
  }
}

async function startBehindProxy(options: FaultInboxOptions) {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close().catch(() => undefined))
  const worker = createFaultInbox(database, { connection: proxy.config, ...options })
  await worker.inbox.start()
  return { ...worker, proxy }
}
