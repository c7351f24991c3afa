/**
 * Clocks that are wrong, and clocks that jump. Leases, hearts and what is due go by the database's clock alone.
 *
 * On PostgreSQL that is the server's, whatever the machines of the workers think: here they are processes with
 * another time than the server's. SQLite has no clock but its process's, and its processes share one machine
 * and so one clock: there it is only our own code's reading of the time that can be wrong by itself.
 */

import { describe, expect, onTestFinished, test } from 'vitest'
import { addLedger } from '../support/faults/make-database.ts'
import { createPostgres } from '../support/postgres/postgres-database.ts'
import { createSqlite } from '../support/sqlite-database.ts'
import { ENGINES } from '../support/faults/fault-database.ts'
import type { Engine, FaultDatabase } from '../support/faults/fault-database.ts'
import { accept } from '../support/faults/fault-inbox.ts'
import { forSteps } from '../support/faults/fault-sources.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'
import { post } from '../support/faults/post.ts'
import type { Script } from '../support/faults/scripted-handler.ts'
import type { ScriptedStep, StepScript } from '../support/faults/scripted-steps.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { openScene, SOON } from '../support/faults/steps-scene.ts'
import type { SpawnOptions, Subject, SubjectKind } from '../support/faults/subject.ts'
import type { SubjectConfig } from '../support/faults/subject-messages.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import { startSink } from '../support/sink.ts'
import { RUNS_ALL } from '../support/slow-tests.ts'
import { createSettableClock, hasNoFaketime, withClockOff } from '../support/tools/wrong-clock.ts'
import type { SettableClock } from '../support/tools/wrong-clock.ts'

const TEN_MINUTES_MS = 600_000
const HOUR_MS = 3_600_000

/** A process whose clock is off by so much, as far as it can be on this engine. */
function wrongBy(engine: Engine, offMs: number): SpawnOptions {
  return engine === 'postgres' ? { env: withClockOff(offMs) } : withDateOff(offMs)
}

describe.each(ENGINES)('with the wrong time, on %s', (engine) => {
  const takesLong = engine === 'postgres' && !RUNS_ALL

  test.skipIf(hasNoFaketime || takesLong)(
    'C08: workers whose clocks are ten minutes off take no lease early, and none late',
    async () => {
      const { database, other, start } = await openScene(engine)
      const ahead = await start({ worker: STEADY }, wrongBy(engine, TEN_MINUTES_MS))
      await accept(
        other,
        forSteps({ key: 'held', first: [['reach', 'inside']], steps: [['tx', 'a']] }),
      )
      await ahead.untilReached('inside held')
      const behind = await start({ worker: STEADY }, wrongBy(engine, -TEN_MINUTES_MS))
      // It has looked for the dead when it started, and looks again while it runs these.
      for (let i = 0; i < 5; i += 1) {
        await accept(other, forSteps({ key: `evt_${i}`, steps: [['tx', 'a']] }))
        await Promise.race([
          ahead.untilHappened('event.done', `evt_${i}`),
          behind.untilHappened('event.done', `evt_${i}`),
        ])
      }
      expect(behind.countHappened('event.crashed')).toBe(0)

      await ahead.kill()
      await behind.untilHappened('event.done', 'held')
      expect(behind.countHappened('event.crashed')).toBe(1)
      expect(await database.listWrongEffects(['held:a'])).toEqual([])
    },
  )

  test.skipIf(hasNoFaketime)(
    'X19: a relay whose clock is an hour behind sends by the clock of the database',
    async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({ answer: () => ({ status: 503, body: 'later' }) })
      await outbox.write(1)

      const retry = { ...AT_ONCE, firstMs: TEN_MINUTES_MS, maxMs: TEN_MINUTES_MS }
      const relay = await startSubject(
        'relay',
        {
          store: outbox.database.store,
          sink: { url: sink.url, allow: ['127.0.0.1'], retry },
          relay: {},
        },
        wrongBy(engine, -HOUR_MS),
      )
      await relay.untilHappened('message.failed')
      const [waiting] = await outbox.untilIn('ready')

      // The wait is up to a tenth longer or shorter than the policy says.
      const waitsMs = waiting!.sendAt!.getTime() - waiting!.createdAt.getTime()
      expect(waitsMs).toBeGreaterThan(TEN_MINUTES_MS / 2)
      expect(waitsMs).toBeLessThan(2 * TEN_MINUTES_MS)
    },
  )
})

describe.each(ENGINES)('a clock that is set while they work, on %s', (engine) => {
  // The server whose clock is set must be one of their own.
  const cannotSet = hasNoFaketime || (engine === 'postgres' && hasNoBinaries)
  const takesLong = engine === 'postgres' && !RUNS_ALL

  test.skipIf(cannotSet || takesLong)(
    'C10: an hour back: nothing stands still for that long, and a process says so',
    async () => {
      const { clock, database, deliver, receiver, start } = await openClocked(engine)
      // It has room for one, so that the other waits; a second worker comes when the clock has been set.
      const first = await start({ worker: { ...STEADY, stepsMax: 1 } })
      await deliver('held', { first: [['reach', 'inside']], steps: [['tx', 'a']] })
      await first.untilReached('inside held')
      await deliver('waiting', { steps: [['tx', 'a']] })

      clock.set(-HOUR_MS)
      const second = await start({ worker: STEADY })
      await second.untilHappened('event.done', 'waiting')
      await deliver('after', { steps: [['tx', 'a']] })
      await second.untilHappened('event.done', 'after')
      await Promise.race(
        [receiver, first, second].map((each) => each.untilHappened('clock.went-back')),
      )
      expect(second.countHappened('event.crashed')).toBe(0)

      await first.kill()
      await second.untilHappened('event.done', 'held')
      expect(second.countHappened('event.crashed')).toBe(1)
      expect(await database.listWrongEffects(['held:a', 'waiting:a', 'after:a'])).toEqual([])
    },
  )

  test.skipIf(cannotSet)(
    'C10: an hour back while no worker runs: what was stored before runs all the same',
    async () => {
      const { clock, database, deliver, receiver, start } = await openClocked(engine)
      await deliver('before', { steps: [['tx', 'a']] })
      await receiver.kill()

      clock.set(-HOUR_MS)
      const worker = await start({ worker: STEADY })
      await worker.untilHappened('event.done', 'before')

      await worker.untilHappened('clock.went-back')
      expect(await database.listWrongEffects(['before:a'])).toEqual([])
    },
  )

  test.skipIf(cannotSet || !RUNS_ALL)(
    'C10: an hour back, time and again: a message that waits for three seconds is sent, by relays alone',
    async () => {
      const { clock, deliver, receiver, start } = await openClocked(engine)
      const sink = await startSink()
      const config = { sink: { url: sink.url, allow: ['127.0.0.1'] } }
      const relay = await start({ ...config, relay: {} }, 'relay')
      for (let times = 1; times <= 4; times += 1) {
        const writer = await start({ ...config, worker: STEADY }, 'worker', 'groups')
        await deliver(`evt_${times}`, { steps: [['send', 3_000]] })
        await writer.untilHappened('event.done', `evt_${times}`)
        await writer.kill()

        clock.set(-times * HOUR_MS)
        await sink.untilRequests(times)
      }
      expect(
        relay.countHappened('clock.went-back') + receiver.countHappened('clock.went-back'),
      ).toBe(4)
    },
    300_000,
  )

  test.skipIf(cannotSet)(
    'C10: an hour ahead: nothing is taken from a worker that lives, and one that dies is found as before',
    async () => {
      const { clock, database, deliver, start } = await openClocked(engine)
      const keys = Array.from({ length: 10 }, (_, i) => `evt_${i}`)
      const first: readonly ScriptedStep[] = [
        ['tx', 'a'],
        ['reach', 'inside'],
        ['tx', 'b'],
      ]
      const steps: readonly ScriptedStep[] = [
        ['tx', 'a'],
        ['tx', 'b'],
      ]
      const holder = await start({ worker: STEADY })
      for (const key of keys) await deliver(key, { first, steps })
      await Promise.all(keys.map((key) => holder.untilReached(`inside ${key}`)))

      clock.set(HOUR_MS)
      const other = await start({ worker: { ...STEADY, stepsMax: 1 } })
      // It has looked for the dead when it started, and looks again while it runs these.
      for (let i = 0; i < 5; i += 1) {
        await deliver(`after_${i}`, { steps: [['tx', 'a']] })
        await Promise.race([
          holder.untilHappened('event.done', `after_${i}`),
          other.untilHappened('event.done', `after_${i}`),
        ])
      }
      expect(other.countHappened('event.crashed')).toBe(0)
      holder.goOn('inside evt_0')
      await holder.untilHappened('event.done', 'evt_0')

      await holder.kill()
      for (const key of keys.slice(1)) await other.untilHappened('event.done', key)
      expect(other.countHappened('event.crashed')).toBe(keys.length - 1)
      const effects = keys.flatMap((key) => [`${key}:a`, `${key}:b`])
      expect(await database.listWrongEffects(effects)).toEqual([])
    },
  )
})

/** Longer than any pause of a busy machine, and short enough to wait for. */
const STEADY = { concurrency: 2, deadAfterMs: 6_000, pollMs: 50, stepsMax: 32 }

interface Clocked {
  readonly clock: SettableClock
  readonly database: FaultDatabase
  readonly receiver: Subject
  deliver(key: string, script: StepScript | Script): Promise<void>
  /** With step handlers unless it is to run groups. */
  start(
    config: Partial<SubjectConfig>,
    kind?: SubjectKind,
    handlers?: 'steps' | 'groups',
  ): Promise<Subject>
}

/** A database whose clock can be set: the server's own, or that of all the processes of a file. */
async function openClocked(engine: Engine): Promise<Clocked> {
  const clock = createSettableClock()
  const { database, options } = await createClocked(engine, clock)
  const sink = await startSink()
  const { store } = database
  const receiver = await startSubject('receiver', { store }, options)
  return {
    clock,
    database,
    receiver,
    deliver: async (key, script) => {
      const { status } = await post(receiver.url, forSteps({ key, ...(script as StepScript) }))
      expect(status).toBe(200)
    },
    start: (config, kind = 'worker', handlers = 'steps') => {
      const steps = handlers === 'steps' ? { steps: { sink: sink.url, options: SOON } } : {}
      return startSubject(kind, { store, ...steps, ...config }, options)
    },
  }
}

async function createClocked(
  engine: Engine,
  { env }: SettableClock,
): Promise<{ database: FaultDatabase; options: SpawnOptions }> {
  if (engine === 'sqlite') {
    const { database, drop } = await addLedger(await createSqlite())
    onTestFinished(drop)
    return { database, options: { env } }
  }
  const server = await startPostgres({ env })
  onTestFinished(() => server.dispose())
  const { database, drop } = await addLedger(await createPostgres(server.config))
  onTestFinished(drop)
  return { database, options: {} }
}

/** A process that reads another time than its machine has, in JavaScript. */
function withDateOff(offMs: number): SpawnOptions {
  const code = `const Real = Date
    globalThis.Date = class extends Real {
      constructor(...args) { if (args.length === 0) super(Real.now() + ${offMs}); else super(...args) }
      static now() { return Real.now() + ${offMs} }
    }`
  return { nodeOptions: ['--import', `data:text/javascript,${encodeURIComponent(code)}`] }
}
