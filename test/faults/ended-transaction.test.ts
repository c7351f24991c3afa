import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'

const KEYS = Array.from({ length: 50 }, (_, i) => `evt_${i}`)
/** In the middle of the group: events ran before it, and events are to run after it. */
const CULPRIT = 'evt_30'
const OTHERS = KEYS.filter((key) => key !== CULPRIT)
const WRITE = 'insert into effects values ($1, $2)'

describe.each(ENGINES)(
  'a handler that ends the transaction of its group of 50 through tx on %s',
  (engine) => {
    const statements =
      engine === 'postgres'
        ? [
            'commit',
            'rollback',
            'begin',
            'set lock_timeout = 1',
            '/* */ ; end',
            'savepoint a',
            'prepare transaction $$a$$',
          ]
        : ['commit', 'rollback', 'begin', 'savepoint a', '/* */ ; end', 'pragma foreign_keys = on']

    test.each(statements)('H08: %s is refused, and harms only its own event', async (statement) => {
      const { database, worker } = await prepare(engine)
      const codes: unknown[] = []
      worker.inbox.on('partner', '*', { retry: { attemptsMax: 1 } }, async (event, { tx }) => {
        await tx.query(WRITE, [event.key, 'ran'])
        if (event.key !== CULPRIT) return
        await tx.query(statement).catch((error: unknown) => {
          codes.push((error as { code?: unknown }).code)
          throw error
        })
      })

      await runAll(worker)

      expect(new Set(codes)).toEqual(new Set(['TRANSACTION_CONTROL']))
      await expectOnlyTheCulpritIsDead(database, worker)
    })
  },
)

describe('a handler that ends the transaction of its group of 50 through the client itself', () => {
  test.each([
    ['commit', 'rollback of everything by the fence'],
    ['rollback', 'the end of the transaction'],
    ['rollback; begin', 'another transaction in place of ours'],
    ['commit and chain', 'a commit that opens another transaction'],
    ['rollback and chain', 'a rollback that opens another transaction'],
    [
      'rollback; begin; savepoint "hookonce_hookonce_group"; savepoint "hookonce_hookonce_event"',
      'another transaction with our own marks in it',
    ],
  ])('H08: %s harms only its own event (%s)', async (statement) => {
    const { database, worker } = await prepare('postgres')
    worker.inbox.on('partner', '*', async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key !== CULPRIT) return
      const client = await worker.clientOf(tx)
      await client.query(statement).catch(() => undefined)
    })

    await runAll(worker)

    await expectOnlyTheCulpritIsDead(database, worker)
    expect((await worker.getEvent(CULPRIT)).reason).toMatch(/ended the transaction/)
  })

  test('H08: a COMMIT whose failure is known before the end of the transaction harms only its own event', async () => {
    const { database, worker, proxy } = await prepareBehindProxy()
    worker.inbox.on('partner', '*', async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key !== CULPRIT) return
      const client = await worker.clientOf(tx)
      await client.query('commit /* by hand */').catch(() => undefined)
    })
    const { fired } = proxy.arm({ matches: /by hand/, fault: 'late-ready' })

    await runAll(worker)
    await fired

    await expectOnlyTheCulpritIsDead(database, worker)
  })

  test('H08: a BEGIN inside the transaction changes nothing', async () => {
    const { database, worker } = await prepare('postgres')
    worker.inbox.on('partner', '*', async (event, { tx }) => {
      await tx.query(WRITE, [event.key, 'ran'])
      if (event.key !== CULPRIT) return
      const client = await worker.clientOf(tx)
      await client.query('begin')
    })

    await worker.inbox.start()
    await until('all events are done', () => worker.count('event.done') === KEYS.length)

    expect(await database.listWrongEffects(KEYS)).toEqual([])
  })
})

async function prepare(
  engine: FaultDatabase['engine'],
): Promise<{ database: FaultDatabase; worker: FaultInbox }> {
  const database = await createFaultDatabase(engine)
  const worker = createFaultInbox(database, { worker: { concurrency: 1, groupBudgetMs: 60_000 } })
  await Promise.all(KEYS.map((key) => accept(worker, fromPartner({ key }))))
  return { database, worker }
}

async function prepareBehindProxy(): Promise<{
  database: FaultDatabase
  worker: FaultInbox
  proxy: WireProxy
}> {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close())
  const worker = createFaultInbox(database, {
    connection: proxy.config,
    worker: { concurrency: 1, groupBudgetMs: 60_000 },
  })
  await Promise.all(KEYS.map((key) => accept(worker, fromPartner({ key }))))
  return { database, worker, proxy }
}

async function runAll(worker: FaultInbox): Promise<void> {
  await worker.inbox.start()
  await until('the others are done', () => worker.count('event.done') === OTHERS.length)
  await worker.untilHappened('event.dead', CULPRIT)
}

async function expectOnlyTheCulpritIsDead(
  database: FaultDatabase,
  worker: FaultInbox,
): Promise<void> {
  expect(await database.listWrongEffects(OTHERS)).toEqual([])
  expect(await database.countEffects(CULPRIT)).toBe(0)
  expect(await worker.getEvent(CULPRIT)).toMatchObject({ state: 'dead', outcome: { attempts: 1 } })
  expect(await database.count('outcomes', `state = 'done' and attempts = 1`)).toBe(OTHERS.length)
  expect(await database.count('queue')).toBe(0)
}
