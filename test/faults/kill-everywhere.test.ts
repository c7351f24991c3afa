/**
 * H01: `kill -9` at the decisive statement boundaries, and with `npm run test:all` at every one there is: before a
 * statement is sent, when it has been sent and before its answer, and after its answer, one process for each.
 *
 * The boundaries are not listed anywhere: each process dies at the first one at which none before it did, and
 * the first process that lives to see its event through has been at no other.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectDeathsAt } from '../support/faults/deaths.ts'
import type { Deaths } from '../support/faults/deaths.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { Engine } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import type { ScriptedEvent } from '../support/faults/fault-sources.ts'
import { APART_FROM_EVENTS, killAtEveryBoundary } from '../support/faults/kill-at-every-boundary.ts'
import { post } from '../support/faults/post.ts'
import { SubjectGoneError, SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'

const LIMIT_MS = 600_000

describe.each(ENGINES)('kill -9 at every statement on %s', (engine) => {
  let receivers: SubjectPool
  let workers: SubjectPool
  beforeAll(() => {
    receivers = new SubjectPool('receiver', 2)
    workers = new SubjectPool('worker', 2)
  })
  afterAll(async () => {
    await receivers.close()
    await workers.close()
  })

  const store = engine === 'postgres' ? /record_new/ : /insert into \S*events/
  // On PostgreSQL a batch is one call that commits by itself, except where content is watched.
  test.each([
    ['partner', engine === 'postgres' ? [store] : [/begin/, store, /commit/]],
    ['watched', [/begin/, store, /commit/]],
  ])(
    'H01: of storing an event of %s: what was not acknowledged is sent again, and there is one event',
    { timeout: LIMIT_MS },
    async (source, statements) => {
      const database = await createFaultDatabase(engine)
      const survivor = createFaultInbox(database)
      await accept(survivor, fromPartner({ key: 'evt_0' }))
      const keys: string[] = []
      const { deaths } = await killAtEveryBoundary({
        pool: receivers,
        config: { store: database.store },
        decisive: statements,
        prepare: async (n) => void keys.push(`evt_${n}`),
        untilThrough: async (victim, n) => {
          await victim.untilStarted()
          const sending = post(victim.url, fromPartner({ key: `evt_${n}` }), { source })
          const answer = await sending.catch(() => undefined)
          if (answer !== undefined) return expect(answer.status).toBe(200)
          expect((await victim.gone).signal).toBe('SIGKILL')
          throw new SubjectGoneError(victim.errors)
        },
        afterDeath: async () => {
          const key = keys.at(-1) as string
          const { status } = await survivor.inbox.receive(source, fromPartner({ key }))
          expect(status).toBe(200)
          expect(await survivor.inbox.admin.listEventsByKey(source, key)).toHaveLength(1)
        },
      })
      expectDeathsAt(deaths, engine, statements)
      expect(await database.count('events')).toBe(keys.length + 1)
      expect(await database.count('queue')).toBe(keys.length + 1)
    },
  )

  test('H01: of running one event: it takes effect once', { timeout: LIMIT_MS }, async () => {
    const decisive = [...OF_A_GROUP, /insert into effects/]
    const deaths = await killWorkers({ engine, workers, decisive }, (n) => [{ key: `evt_${n}` }])
    expectDeathsAt(deaths, engine, decisive)
  })

  test(
    'H01: of running a group again because one of it failed: each takes effect once',
    { timeout: LIMIT_MS },
    async () => {
      const decisive = [
        ...OF_A_GROUP,
        /insert into effects/,
        /rollback to/,
        // The last of them, behind its own savepoint.
        /savepoint "hookonce_event" \(3\)/,
      ]
      const scene = { engine, workers, decisive, except: APART_FROM_EVENTS }
      const deaths = await killWorkers(scene, (n) => [
        { key: `evt_${n}_a` },
        {
          key: `evt_${n}_b`,
          steps: [['write', 'done']],
          first: [
            ['write', 'not kept'],
            ['throw', 'the first time'],
          ],
        },
        { key: `evt_${n}_c` },
      ])
      expectDeathsAt(deaths, engine, decisive)
    },
  )

  test(
    'H01: of a group that writes without waiting: each takes effect once',
    { timeout: LIMIT_MS },
    async () => {
      const steps = [['note', 'done']] as const
      const write = engine === 'postgres' ? /what was written/ : /insert into effects/
      const decisive = [...OF_A_GROUP, write]
      const scene = { engine, workers, decisive, except: APART_FROM_EVENTS }
      const deaths = await killWorkers(scene, (n) =>
        ['a', 'b', 'c'].map((name) => ({ key: `evt_${n}_${name}`, steps })),
      )
      expectDeathsAt(deaths, engine, decisive)
    },
  )
})

/** Statements of every group, on either engine. */
const OF_A_GROUP = [
  /begin/,
  /savepoint/,
  /: .*(?:settle|delete from \S*queue)/,
  /commit.* of .*(?:settle|delete from \S*queue)/,
]

interface Scene {
  readonly engine: Engine
  readonly workers: SubjectPool
  readonly decisive: readonly RegExp[]
  readonly except?: RegExp
}

/** Kills workers at every boundary of what they do with such events; then a survivor does what is left. */
async function killWorkers(
  { engine, workers, decisive, except }: Scene,
  eventsOf: (n: number) => readonly ScriptedEvent[],
): Promise<Deaths> {
  const database = await createFaultDatabase(engine)
  const survivor = createFaultInbox(database, {
    worker: { concurrency: 4, deadAfterMs: 500, crashesMax: 100 },
  })
  await survivor.inbox.admin.countEvents()
  const handler = { retry: { firstMs: 1, factor: 1 } }
  const keys: string[] = []
  const { deaths } = await killAtEveryBoundary({
    pool: workers,
    decisive,
    ...(except && { except }),
    config: {
      store: database.store,
      handler,
      worker: {
        concurrency: 1,
        // As many as come together, however long they take.
        groupMax: eventsOf(0).length,
        groupBudgetMs: 600_000,
        // It does not look for the dead: what they left is for the survivor.
        deadAfterMs: 600_000,
        crashesMax: 100,
        pollMs: 20,
      },
    },
    prepare: async (n) => {
      const events = eventsOf(n)
      keys.push(...events.map(({ key }) => key))
      await Promise.all(events.map((event) => accept(survivor, fromPartner(event))))
    },
    untilThrough: (victim, n) =>
      Promise.all(eventsOf(n).map(({ key }) => victim.untilHappened('event.done', key))),
  })
  survivor.inbox.on('partner', '*', handler, (event, { tx }) =>
    tx.query('insert into effects values ($1, $2)', [event.key, 'survivor']),
  )
  await survivor.inbox.start()
  await until('nothing is left to do', async () => (await database.count('queue')) === 0, {
    limitMs: LIMIT_MS,
  })

  expect(await database.listWrongEffects(keys)).toEqual([])
  expect(await database.count('events')).toBe(keys.length)
  expect(await database.count('outcomes', `state = 'done'`)).toBe(keys.length)
  return deaths
}
