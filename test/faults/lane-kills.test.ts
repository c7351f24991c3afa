/**
 * Workers that are killed at the boundaries of the statements that decide what is next in a lane, with
 * `npm run test:all` of every one: for each order, and for a step handler. What is left is done by another worker.
 * `lanes.test.ts` has the same for `fifo`.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { OrderMode } from '../../src/ordering/order.ts'
import { expectDeathsAt } from '../support/faults/deaths.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { forSteps, fromPartner } from '../support/faults/fault-sources.ts'
import { APART_FROM_EVENTS, killAtEveryBoundary } from '../support/faults/kill-at-every-boundary.ts'
import { orderOf } from '../support/faults/lane-orders.ts'
import { createScriptedHandler } from '../support/faults/scripted-handler.ts'
import { createScriptedSteps } from '../support/faults/scripted-steps.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'

const LIMIT_MS = 600_000

/** Two events of each lane, as they arrive. */
interface Scene {
  readonly name: string
  readonly mode: OrderMode
  readonly isSteps?: boolean
  readonly arrivals: (lane: string) => readonly Delivery[]
  /** What becomes of the one that a victim does last. */
  readonly last: readonly ['event.done' | 'event.skipped', string]
  /** What is written in a lane, in this order. */
  readonly effects: readonly string[]
  readonly states: readonly [first: string, second: string]
}

const IN_ORDER = {
  last: ['event.done', '_2'],
  effects: ['_1', '_2'],
  states: ['done', 'done'],
} as const
const STEPS = [
  ['tx', 'order'],
  ['tx', 'ship'],
] as const

const SCENES: readonly Scene[] = [
  {
    ...IN_ORDER,
    name: 'O01: in a sequence that arrived backwards',
    mode: 'sequence',
    arrivals: (lane) => [
      fromPartner({ key: `${lane}_2`, lane, n: 2 }),
      fromPartner({ key: `${lane}_1`, lane, n: 1 }),
    ],
  },
  {
    name: 'O03: of two versions, the older of which arrived last',
    mode: 'latest',
    arrivals: (lane) => [
      fromPartner({ key: `${lane}_2`, lane, n: 2 }),
      fromPartner({ key: `${lane}_1`, lane, n: 1 }),
    ],
    last: ['event.skipped', '_1'],
    effects: ['_2'],
    states: ['skipped', 'done'],
  },
  {
    ...IN_ORDER,
    name: 'of an event that arrived before what it requires',
    mode: 'after',
    arrivals: (lane) => [
      fromPartner({ key: `${lane}_2`, lane }),
      fromPartner({ key: `${lane}_1`, lane, type: 'thing.made' }),
    ],
  },
  {
    ...IN_ORDER,
    name: 'O01: of two step handlers, one behind the other',
    mode: 'fifo',
    isSteps: true,
    arrivals: (lane) => [
      forSteps({ key: `${lane}_1`, lane, steps: STEPS }),
      forSteps({ key: `${lane}_2`, lane, steps: STEPS }),
    ],
    effects: ['_1:order', '_1:ship', '_2:order', '_2:ship'],
  },
]

/** What is decided where: the place in the lane, and the end of the first, which makes the second ready. */
const DECISIVE = {
  postgres: { groups: [/sort_events/, /settle_resting/], steps: [/sort_events/, /settle_leased/] },
  sqlite: {
    groups: [/insert into \S*lanes/, /commit of .*outcomes/],
    steps: [/insert into \S*lanes/, /commit of .*outcomes/],
  },
} as const

describe.each(ENGINES)('a worker that is killed at every boundary on %s', (engine) => {
  let workers: SubjectPool
  beforeAll(() => {
    workers = new SubjectPool('worker', 2)
  })
  afterAll(() => workers.close())

  test.each(SCENES)('$name: each once, and in order', { timeout: LIMIT_MS }, async (scene) => {
    const { mode, isSteps = false, arrivals, last, effects, states } = scene
    const database = await createFaultDatabase(engine)
    const receiver = createFaultInbox(database)
    await receiver.inbox.admin.countEvents()
    const lanes: string[] = []
    const decisive = DECISIVE[engine][isSteps ? 'steps' : 'groups']
    const { deaths } = await killAtEveryBoundary({
      pool: workers,
      except: APART_FROM_EVENTS,
      decisive,
      config: {
        store: database.store,
        worker: { concurrency: 1, deadAfterMs: 600_000, crashesMax: 100, pollMs: 20 },
        lanes: mode,
        ...(isSteps && { steps: { sink: NO_SINK } }),
      },
      prepare: async (n) => {
        const lane = `lane_${n}`
        lanes.push(lane)
        for (const delivery of arrivals(lane)) await accept(receiver, delivery)
      },
      untilThrough: (victim, n) => victim.untilHappened(last[0], `lane_${n}${last[1]}`),
      ...(engine === 'sqlite' && { afterDeath: () => finishAll(database, scene) }),
    })
    await finishAll(database, scene)

    const wanted = lanes.flatMap((lane) => effects.map((effect) => `${lane}${effect}`))
    expect(await database.listWrongEffects(wanted)).toEqual([])
    expect(await database.query('select event_key from effects')).toHaveLength(wanted.length)
    for (const lane of lanes) {
      const first = await receiver.getEvent(`${lane}_1`)
      const second = await receiver.getEvent(`${lane}_2`)
      expect([first.state, second.state]).toEqual(states)
      const ends = [first, second].map(({ outcome }) => Number(outcome?.settledAt))
      expect(ends.toSorted((one, other) => one - other)).toEqual(
        last[1] === '_2' ? ends : ends.toReversed(),
      )
    }
    expectDeathsAt(deaths, engine, decisive)
  })
})

/** The steps of these scenes call nothing. */
const NO_SINK = 'http://127.0.0.1:9'

/** Another worker does what is left. */
async function finishAll(database: FaultDatabase, { mode, isSteps }: Scene): Promise<void> {
  const { inbox } = createFaultInbox(database, {
    worker: { concurrency: 4, deadAfterMs: 500, crashesMax: 100 },
  })
  const host = { reach: () => Promise.resolve() }
  const options = { order: orderOf(mode) }
  if (isSteps === true) inbox.steps('partner', '*', options, createScriptedSteps(host, NO_SINK))
  else inbox.on('partner', '*', options, createScriptedHandler(host))
  await inbox.start()
  await until('nothing is left to do', async () => (await database.count('queue')) === 0, {
    limitMs: LIMIT_MS,
  })
  await inbox.stop()
}
