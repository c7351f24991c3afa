import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { Random } from '../support/faults/random.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'

const WRITE = 'insert into effects values ($1, $2)'
const TERMINATE = 'select pg_terminate_backend(pg_backend_pid())'
const AT_ONCE = { retry: { firstMs: 1, factor: 1, attemptsMax: 3 } }

describe.each(ENGINES)(
  'workers that write without waiting, killed at any moment, on %s',
  (engine) => {
    test('H01: each event takes effect once', async () => {
      const database = await createFaultDatabase(engine)
      const survivor = createFaultInbox(database, {
        worker: { concurrency: 2, deadAfterMs: 500, crashesMax: 100 },
      })
      const random = new Random(7)
      const keys = listKeys(600)
      const steps = [['note', 'done']] as const
      await Promise.all(keys.map((key) => accept(survivor, fromPartner({ key, steps }))))
      const workers = new SubjectPool('worker', 2)
      onTestFinished(() => workers.close())
      // Small groups, so that there are many moments to be killed at.
      const worker = { concurrency: 2, groupMax: 20, deadAfterMs: 600_000, pollMs: 20 }

      for (let n = 0; n < 5; n += 1) {
        const victim = await workers.take().begin({ store: database.store, worker })
        await Promise.race([victim.untilHappened('event.done').catch(() => undefined), victim.gone])
        await new Promise((resolve) => setTimeout(resolve, random.between(0, 40)))
        await victim.kill()
        // What the dead had claimed waits for the survivor, and the next one needs something of its own.
        if ((await database.count('queue')) < 200) break
      }
      survivor.inbox.on('partner', '*', (event, { tx }) => tx.write(WRITE, [event.key, 'survivor']))
      await survivor.inbox.start()
      await until('nothing is left to do', async () => (await database.count('queue')) === 0)

      expect(await database.listWrongEffects(keys)).toEqual([])
      expect(await database.count('outcomes', `state = 'done'`)).toBe(keys.length)
    })
  },
)

describe('a connection to PostgreSQL that is lost by a group that writes without waiting', () => {
  const COMMIT = /hookonce\.commit/
  test.each([
    [
      'H05',
      'at the writes, before the server has seen them',
      /^insert into effects/,
      'drop-before',
    ],
    ['H05', 'at the writes, after the server has run them', /^insert into effects/, 'drop-after'],
    ['H04', 'at COMMIT, before the server has seen it', COMMIT, 'drop-before'],
    ['H03', 'at COMMIT, after the server has committed', COMMIT, 'drop-after'],
  ] as const)('%s: %s: each event takes effect once', async (_id, _when, matches, fault) => {
    const database = await createFaultDatabase('postgres')
    if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
    const proxy = await WireProxy.start(database.store.connection)
    onTestFinished(() => proxy.close())
    const { worker, keys } = await prepare(database, 30, proxy)
    worker.inbox.on('partner', '*', (event, { tx }) => tx.write(WRITE, [event.key, 'once']))
    // The first runs alone; it is the group after it that loses its connection.
    const fired = new Promise<void>((resolve) => {
      const stop = worker.inbox.events.on('event.done', () => {
        stop()
        void proxy.arm({ matches, fault }).fired.then(resolve)
      })
    })

    await worker.inbox.start()
    await fired
    await until('nothing is left to do', async () => (await database.count('queue')) === 0)

    expect(await database.listWrongEffects(keys)).toEqual([])
    expect(await database.count('outcomes', `state = 'done' and attempts = 1`)).toBe(keys.length)
    expect(worker.count('event.failed')).toBe(0)
  })
})

describe('a write that ends its own connection', () => {
  // What is written is sent after the first event, the second, the fourth and so on: not every culprit's write still
  // waits when the next event asks for an answer.
  test.each([
    ['write as well', 'evt_4'],
    ['wait for an answer', 'evt_4'],
    ['wait for an answer', 'evt_6'],
    ['wait for an answer', 'evt_10'],
  ])(
    'H05: is dead after its attempts, and costs those none who %s (%s)',
    async (others, culprit) => {
      const database = await createFaultDatabase('postgres')
      const { worker, keys } = await prepare(database, 20)
      worker.inbox.on('partner', '*', AT_ONCE, async (event, { tx }) => {
        const isOdd = Number(event.key.slice(4)) % 2 === 1
        if (event.key === culprit) tx.write(TERMINATE)
        // The one after the culprit sends what it wrote, and is the one that hears of it.
        else if (others === 'wait for an answer' && isOdd)
          await tx.query(WRITE, [event.key, 'once'])
        else tx.write(WRITE, [event.key, 'once'])
      })

      await worker.inbox.start()
      await worker.untilHappened('event.dead', culprit)
      await until('nothing is left to do', async () => (await database.count('queue')) === 0)

      const innocent = keys.filter((key) => key !== culprit)
      expect(await database.listWrongEffects(innocent)).toEqual([])
      expect(await database.count('outcomes', `state = 'done' and attempts = 1`)).toBe(19)
      expect(await worker.getEvent(culprit)).toMatchObject({
        state: 'dead',
        outcome: { attempts: 3 },
      })
      const failed = new Set(
        worker.happened.flatMap(({ name, about }) =>
          name === 'event.failed' && 'key' in about ? [about.key] : [],
        ),
      )
      expect(failed).toEqual(new Set([culprit]))
    },
  )
})

/** A worker that is not started yet, and events that wait for it. */
async function prepare(
  database: FaultDatabase,
  count: number,
  proxy?: WireProxy,
): Promise<{ worker: FaultInbox; keys: readonly string[] }> {
  const worker = createFaultInbox(database, {
    ...(proxy === undefined ? {} : { connection: proxy.config }),
    worker: { concurrency: 1, groupBudgetMs: 60_000, deadAfterMs: 500 },
  })
  const keys = listKeys(count)
  await Promise.all(keys.map((key) => accept(worker, fromPartner({ key }))))
  return { worker, keys }
}

function listKeys(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `evt_${n}`)
}
