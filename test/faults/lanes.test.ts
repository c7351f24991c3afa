/**
 * Workers that stand still or die in the middle of a lane.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { forSteps, fromPartner } from '../support/faults/fault-sources.ts'
import { expectDeathsAt } from '../support/faults/deaths.ts'
import { killAtEveryBoundary } from '../support/faults/kill-at-every-boundary.ts'
import { orderOf } from '../support/faults/lane-orders.ts'
import { createScriptedHandler } from '../support/faults/scripted-handler.ts'
import { createScriptedSteps } from '../support/faults/scripted-steps.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'

const LIMIT_MS = 600_000
const order = orderOf('fifo')

/** What is decided where: the place in the lane, and the end of the first, which makes the second ready. */
const DECISIVE = {
  postgres: [/sort_events/, /settle_resting/],
  sqlite: [/insert into \S*lanes/, /commit of .*outcomes/],
} as const

/** The other statements of a worker have tests of their own: `kill-everywhere.test.ts`. */
const OF_OTHERS =
  /^(?!.*(?:sort_events|unsorted|lock_lanes|settle_resting|_lanes|_queue set lane|outcomes \())/

describe.each(ENGINES)('a lane whose worker stands still on %s', (engine) => {
  test('O04: is taken over, and what comes back late changes nothing of it', async () => {
    const database = await createFaultDatabase(engine)
    const frozen = await startSubject('worker', {
      store: database.store,
      worker: { concurrency: 1, deadAfterMs: 60_000 },
      handler: { timeoutMs: 5_000, retry: { firstMs: 1 } },
      lanes: 'fifo',
    })
    const other = createFaultInbox(database, { worker: { concurrency: 2, deadAfterMs: 500 } })
    // SQLite has one writer: what stands still with it holds up every other process, until it is killed.
    const before = engine === 'postgres' ? ([['write', 'frozen']] as const) : []
    const steps = [...before, ['freeze', 'inside'], ['write', 'thawed']] as const
    await accept(other, fromPartner({ key: 'evt_1', lane: 'K', steps }))
    await frozen.untilReached('inside evt_1')
    await accept(other, fromPartner({ key: 'evt_2', lane: 'K' }))

    other.inbox.on('partner', '*', { order }, async (event, { tx }) => {
      await tx.query(
        `insert into effects (event_key, note) select $1, 'other after ' || count(*) from effects`,
        [event.key],
      )
    })
    await other.inbox.start()
    await other.untilHappened('event.done', 'evt_2')
    frozen.signal('SIGCONT')
    await Promise.race([
      frozen.untilHappened('event.failed', 'evt_1'),
      frozen.untilHappened('group.given-back'),
    ])

    expect(await database.query('select event_key, note from effects order by 1')).toEqual([
      { event_key: 'evt_1', note: 'other after 0' },
      { event_key: 'evt_2', note: 'other after 1' },
    ])
  })
})

describe.each(ENGINES)('a lane of step handlers whose worker stands still on %s', (engine) => {
  test('O04: is taken over between two steps, and what comes back late takes no step and sends nothing', async () => {
    const database = await createFaultDatabase(engine)
    const unreachable = 'http://127.0.0.1:9'
    const frozen = await startSubject('worker', {
      store: database.store,
      worker: { concurrency: 1, deadAfterMs: 60_000 },
      lanes: 'fifo',
      steps: { sink: unreachable, options: { retry: { firstMs: 1 } } },
      sink: { url: unreachable, allow: ['127.0.0.1'] },
    })
    const mail = destination('sink', () => undefined)
    const other = createFaultInbox(database, {
      // A lease is as long, and a busy machine must not let it end.
      worker: { concurrency: 2, deadAfterMs: 3_000 },
      destinations: [mail],
    })
    const steps = [
      ['tx', 'first'],
      ['send', 'first'],
      ['reach', 'inside'],
      ['tx', 'second'],
      ['send', 'second'],
    ] as const
    await accept(other, forSteps({ key: 'evt_1', lane: 'K', steps }))
    await frozen.untilReached('inside evt_1')
    frozen.signal('SIGSTOP')
    await accept(other, forSteps({ key: 'evt_2', lane: 'K', steps }))

    const reached: string[] = []
    const host = { reach: async (point: string) => void reached.push(point) }
    other.inbox.steps('partner', '*', { order }, createScriptedSteps(host, unreachable))
    await other.inbox.start()
    await other.untilHappened('event.done', 'evt_2')
    frozen.signal('SIGCONT')
    frozen.goOn('inside evt_1')
    await frozen.untilHappened('lease.lost')

    expect(new Set(reached)).toEqual(new Set(['inside evt_1', 'inside evt_2']))
    expect(
      await database.listWrongEffects(
        ['evt_1', 'evt_2'].flatMap((key) => [`${key}:first`, `${key}:second`]),
      ),
    ).toEqual([])
    expect(await database.query('select event_key, note from effects order by 1')).toEqual([
      { event_key: 'evt_1:first', note: '1' },
      { event_key: 'evt_1:second', note: '2' },
      { event_key: 'evt_2:first', note: '1' },
      { event_key: 'evt_2:second', note: '1' },
    ])
    expect(await database.count('message_queue')).toBe(4)
    const [first, second] = [await other.getEvent('evt_1'), await other.getEvent('evt_2')]
    expect(Number(first.outcome?.settledAt)).toBeLessThan(Number(second.outcome?.settledAt))
    expect(frozen.countHappened('event.done')).toBe(0)
  })
})

describe.each(ENGINES)('lanes on %s', (engine) => {
  test('a worker that stands still in a function of the user holds nothing that others need', async () => {
    const database = await createFaultDatabase(engine)
    const other = createFaultInbox(database, { worker: { concurrency: 2 } })
    await accept(other, fromPartner({ key: 'evt_1', lane: 'K', freezesLane: true }))
    const frozen = await startSubject('worker', { store: database.store, lanes: 'fifo' })
    await frozen.untilReached('lane evt_1')

    await accept(other, fromPartner({ key: 'evt_2', lane: 'K' }))
    const host = { reach: () => Promise.resolve() }
    const applied: string[] = []
    other.inbox.events.on('event.done', ({ key }) => applied.push(key))
    other.inbox.on('partner', '*', { order }, createScriptedHandler(host))
    await other.inbox.start()
    await other.untilHappened('event.done', 'evt_2')
    expect(applied).toEqual(['evt_1', 'evt_2'])
    await other.inbox.stop()

    // What it has found out meanwhile is written already, and it goes on with what is new.
    frozen.signal('SIGCONT')
    const receiver = createFaultInbox(database)
    await accept(receiver, fromPartner({ key: 'evt_3', lane: 'K' }))
    await frozen.untilHappened('event.done', 'evt_3')
    expect(await database.listWrongEffects(['evt_1', 'evt_2', 'evt_3'])).toEqual([])
  })

  let workers: SubjectPool
  beforeAll(() => {
    workers = new SubjectPool('worker', 2)
  })
  afterAll(() => workers.close())

  test(
    'O01: killed at every boundary of sorting and settling: each event of a lane once, after the one before it',
    { timeout: LIMIT_MS },
    async () => {
      const database = await createFaultDatabase(engine)
      const receiver = createFaultInbox(database)
      await receiver.inbox.admin.countEvents()
      const lanes: string[] = []
      const { deaths } = await killAtEveryBoundary({
        pool: workers,
        except: OF_OTHERS,
        config: {
          store: database.store,
          worker: { concurrency: 1, deadAfterMs: 600_000, crashesMax: 100, pollMs: 20 },
          lanes: 'fifo',
        },
        prepare: async (n) => {
          const lane = `lane_${n}`
          lanes.push(lane)
          // The same text for every victim, since a boundary is known by its text.
          await accept(receiver, fromPartner({ key: `${lane}_1`, lane }))
          await accept(receiver, fromPartner({ key: `${lane}_2`, lane }))
        },
        untilThrough: (victim, n) => victim.untilHappened('event.done', `lane_${n}_2`),
        ...(engine === 'sqlite' && { afterDeath: () => finishAll(database) }),
      })
      await finishAll(database)

      const keys = lanes.flatMap((lane) => [`${lane}_1`, `${lane}_2`])
      expect(await database.listWrongEffects(keys)).toEqual([])
      for (const lane of lanes) {
        const first = await receiver.getEvent(`${lane}_1`)
        const second = await receiver.getEvent(`${lane}_2`)
        expect(Number(first.outcome?.settledAt)).toBeLessThanOrEqual(
          Number(second.outcome?.settledAt),
        )
      }
      expect(await database.count('outcomes', `state = 'done'`)).toBe(2 * lanes.length)
      expectDeathsAt(deaths, engine, DECISIVE[engine])
    },
  )
})

/** Another worker does what is left. */
async function finishAll(database: FaultDatabase): Promise<void> {
  const { inbox } = createFaultInbox(database, {
    worker: { concurrency: 4, deadAfterMs: 500, crashesMax: 100 },
  })
  const host = { reach: () => Promise.resolve() }
  inbox.on('partner', '*', { order }, createScriptedHandler(host))
  await inbox.start()
  await until('nothing is left to do', async () => (await database.count('queue')) === 0, {
    limitMs: LIMIT_MS,
  })
  await inbox.stop()
}
