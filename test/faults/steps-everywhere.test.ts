/**
 * A five-step handler, killed with SIGKILL at the boundaries of the decisive statements it sends, and with
 * `npm run test:all` of every one: before it is sent, when it has been sent and before its answer, and after its
 * answer, one process for each.
 *
 * As in `kill-everywhere.test.ts`, the boundaries are not listed anywhere: each process dies at the first one at
 * which none before it did, and the first process that lives to see its event through has been at no other.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectDeathsAt } from '../support/faults/deaths.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { forSteps } from '../support/faults/fault-sources.ts'
import { APART_FROM_EVENTS, killAtEveryBoundary } from '../support/faults/kill-at-every-boundary.ts'
import { createScriptedSteps } from '../support/faults/scripted-steps.ts'
import type { ScriptedStep } from '../support/faults/scripted-steps.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'
import { startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'

const LIMIT_MS = 600_000

const STEPS: readonly ScriptedStep[] = [
  ['tx', 'order'],
  ['call', 'charge'],
  ['tx', 'pay'],
  ['call', 'label'],
  ['tx', 'ship'],
]

/** What is decided where: the lease, the word that a call starts and how it ended, a step's commit, the end. */
const DECISIVE = {
  postgres: [/lease/, /write_calls\(.*\(4\)/, /commit.* of .*effects.* \(3\)/, /settle_leased/],
  sqlite: [
    /lease/,
    /commit of .*insert into \S*steps as s.* \(4\)/,
    /commit of .*effects.* \(3\)/,
    /commit of .*outcomes/,
  ],
} as const

describe.each(ENGINES)('a five-step handler on %s', (engine) => {
  let workers: SubjectPool
  beforeAll(() => {
    workers = new SubjectPool('worker', 2)
  })
  afterAll(() => workers.close())

  test(
    'H15: killed at every boundary: every write happened once, every call has one key',
    { timeout: LIMIT_MS },
    async () => {
      const database = await createFaultDatabase(engine)
      const sink = await startSink()
      const receiver = createFaultInbox(database)
      await receiver.inbox.admin.countEvents()
      const keys: string[] = []
      const { deaths } = await killAtEveryBoundary({
        pool: workers,
        except: APART_FROM_EVENTS,
        decisive: DECISIVE[engine],
        config: {
          store: database.store,
          // It takes no worker for dead by the clock: what the others left is for the survivor.
          worker: { concurrency: 1, deadAfterMs: 600_000, crashesMax: 100, pollMs: 20 },
          steps: { sink: sink.url },
        },
        prepare: async (n) => {
          keys.push(`evt_${n}`)
          await accept(receiver, forSteps({ key: `evt_${n}`, steps: STEPS }))
        },
        untilThrough: (victim, n) => victim.untilHappened('event.done', `evt_${n}`),
        // A victim that takes two events writes of both at once, and its fourth write of calls can be of any call.
        // On SQLite, which knows by the process id that a worker is gone, it would take all that are left.
        afterDeath: () =>
          finish({ database, sink, left: engine === 'sqlite' ? 'true' : 'lease_worker is null' }),
      })
      await finish({ database, sink, left: 'true' })

      const writes = keys.flatMap((key) => ['order', 'pay', 'ship'].map((name) => `${key}:${name}`))
      const calls = keys.flatMap((key) => ['charge', 'label'].map((name) => `${key}:${name}`))
      expect(await database.listWrongEffects(writes)).toEqual([])
      expect(new Set(sink.list().map(({ body }) => body))).toEqual(new Set(calls))
      expect(sink.listMixedKeys()).toEqual([])
      expect([...sink.countEffects().values()]).toEqual(calls.map(() => 1))
      expect(await database.count('outcomes', `state = 'done'`)).toBe(keys.length)
      // Some calls were made twice, or the kills did not reach the moment between a call and its result.
      expect(sink.list().length).toBeGreaterThan(calls.length)
      expectDeathsAt(deaths, engine, DECISIVE[engine])
    },
  )
})

interface Leftovers {
  readonly database: FaultDatabase
  readonly sink: Sink
  /** Which events of the queue, as SQL. */
  readonly left: string
}

/** Another worker does what is left, if anything is. */
async function finish({ database, sink, left }: Leftovers): Promise<void> {
  const isFinished = async (): Promise<boolean> => (await database.count('queue', left)) === 0
  if (await isFinished()) return
  const { inbox } = createFaultInbox(database, {
    worker: {
      concurrency: 4,
      deadAfterMs: left === 'true' ? 500 : LIMIT_MS,
      crashesMax: 100,
      // It may be stopped when it has taken the last event, and sees it through.
      stopGraceMs: 60_000,
    },
  })
  const host = { reach: () => Promise.resolve() }
  inbox.steps('partner', '*', createScriptedSteps(host, sink.url))
  await inbox.start()
  await until('nothing is left to do', isFinished, { limitMs: LIMIT_MS })
  await inbox.stop()
}
