/**
 * A five-step handler, killed with SIGKILL at every boundary of every statement it sends: before it is sent,
 * when it has been sent and before its answer, and after its answer, one process for each.
 *
 * As in `kill-everywhere.test.ts`, the boundaries are not listed anywhere: process n dies at its n-th one, and
 * the enumeration ends with the first process that lives to see its event through.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { forSteps } from '../support/faults/fault-sources.ts'
import { createScriptedSteps } from '../support/faults/scripted-steps.ts'
import type { ScriptedStep } from '../support/faults/scripted-steps.ts'
import { SubjectGoneError, SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'
import { startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'

const LIMIT_MS = 290_000
/** Statements that come by the clock and not with an event: a beat, a look for the dead. */
const OURS =
  '^(?!.*(beat_at|heart_at|epoch|pg_notify|deliveries|parked = .unhandled|lease_until <))'

const STEPS: readonly ScriptedStep[] = [
  ['tx', 'order'],
  ['call', 'charge'],
  ['tx', 'pay'],
  ['call', 'label'],
  ['tx', 'ship'],
]

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
      let at = 1
      for (; ; at += 1) {
        const key = `evt_${at}`
        keys.push(key)
        // It takes nobody for dead by the clock: what the others left is for the survivor.
        const worker = { concurrency: 1, deadAfterMs: 600_000, crashesMax: 100, pollMs: 20 }
        const victim = workers.take()
        await victim.start({ store: database.store, worker, steps: { sink: sink.url } })
        await victim.arm({ from: 'queue', matches: OURS, at, then: 'kill' })
        await accept(receiver, forSteps({ key, steps: STEPS }))
        if (await survives(victim, key)) {
          await victim.kill()
          break
        }
        // SQLite knows by the process id that a worker is gone, so that the next victim would take this event.
        if (engine === 'sqlite') await finishAll(database, sink)
      }
      await finishAll(database, sink)

      const writes = keys.flatMap((key) => ['order', 'pay', 'ship'].map((name) => `${key}:${name}`))
      const calls = keys.flatMap((key) => ['charge', 'label'].map((name) => `${key}:${name}`))
      expect(await database.listWrongEffects(writes)).toEqual([])
      expect(new Set(sink.list().map(({ body }) => body))).toEqual(new Set(calls))
      expect(sink.listMixedKeys()).toEqual([])
      expect([...sink.countEffects().values()]).toEqual(calls.map(() => 1))
      expect(await database.count('outcomes', `state = 'done'`)).toBe(keys.length)
      // Some calls were made twice, or the kills did not reach the moment between a call and its result.
      expect(sink.list().length).toBeGreaterThan(calls.length)
      expect(at).toBeGreaterThan(engine === 'postgres' ? 30 : 15)
    },
  )
})

/** Somebody else does what is left. */
async function finishAll(database: FaultDatabase, sink: Sink): Promise<void> {
  const { inbox } = createFaultInbox(database, {
    worker: { concurrency: 4, deadAfterMs: 500, crashesMax: 100 },
  })
  const host = { reach: () => Promise.resolve() }
  inbox.steps('partner', '*', createScriptedSteps(host, sink.url))
  await inbox.start()
  await until('nothing is left to do', async () => (await database.count('queue')) === 0, {
    limitMs: 60_000,
  })
  await inbox.stop()
}

async function survives(
  victim: { untilHappened(name: string, key: string): Promise<void> },
  key: string,
): Promise<boolean> {
  try {
    await victim.untilHappened('event.done', key)
    return true
  } catch (error) {
    if (error instanceof SubjectGoneError) return false
    throw error
  }
}
