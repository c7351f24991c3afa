/**
 * How long the events of a quiet source wait beside another type of event that floods, fails, hangs, is slow or
 * breaks its connection; against how long they wait alone, in the same round and with every default.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { compare } from '../harness/compare.ts'
import type { BenchContext } from '../harness/context.ts'
import { checkTrouble, measureBeside } from '../harness/measure-beside.ts'
import type { Trouble } from '../harness/measure-beside.ts'
import type { Check, Contestant, Goal, Measurement } from '../harness/measurement.ts'
import type { Workload } from './workload.ts'

/** How much longer the quiet source may wait beside the other. */
const RATIO_MAX = 5
const ALONE: Trouble = { name: 'alone', events: 0, perSecond: 0 }
const FLOOD = { events: 100_000, perSecond: 500 }
const SOME = { events: 200, perSecond: 20 }
/** How long a slow handler takes. On SQLite one that has written holds the only writer for as long. */
const SLOW_MS = 100
const SLOW_WRITERS = 'slow handlers that have written'
const CREATE_TABLE = 'create table slow (n integer)'
const P99 = 'delivery to done p99 ms'

const TROUBLES: readonly Trouble[] = [
  { name: 'a flood that succeeds', ...FLOOD, handler: async () => undefined },
  { name: 'a flood that is parked', ...FLOOD },
  {
    name: 'a hot lane',
    events: 10_000,
    perSecond: 100,
    isOneLane: true,
    handler: ({ tx }) => tx.query('insert into slow values (1)'),
  },
  {
    name: 'a flood that fails',
    ...FLOOD,
    handler: async () => {
      throw new Error('no luck')
    },
  },
  { name: 'handlers that hang', ...SOME, handler: ({ signal }) => untilAborted(signal) },
  { name: 'slow handlers that do not write', ...SOME, handler: () => sleep(SLOW_MS) },
  {
    name: SLOW_WRITERS,
    ...SOME,
    handler: async ({ tx }) => {
      await tx.query('insert into slow values (1)')
      await sleep(SLOW_MS)
    },
  },
  {
    name: 'handlers that lose their connection',
    ...SOME,
    isForPostgresOnly: true,
    handler: ({ tx }) => tx.query('select pg_terminate_backend(pg_backend_pid())'),
  },
  {
    name: 'handlers that set a role',
    ...SOME,
    isForPostgresOnly: true,
    handler: ({ tx }) => tx.query('set local role pg_monitor'),
  },
]

const ENGINES = ['PostgreSQL', 'SQLite'] as const
type Engine = (typeof ENGINES)[number]
type Measured = ReadonlyMap<string, readonly Measurement[]>

export const fairness: Workload = {
  id: 'W13',
  title: 'The p99 of a quiet source beside another type of event, against its p99 alone',
  async run(context) {
    const result = await compare({
      ...context.options,
      say: context.say,
      contestants: ENGINES.flatMap((engine) =>
        [ALONE, ...listTroubles(engine)].map((trouble) =>
          createContestant(context, engine, trouble),
        ),
      ),
      goals: ENGINES.flatMap((engine) =>
        listTroubles(engine).map(({ name }) => goal(engine, name)),
      ),
    })
    const measured: Measured = new Map(
      result.contestants.map(({ name, measurements }) => [name, measurements]),
    )
    const beside = ENGINES.flatMap((engine) =>
      listTroubles(engine).map(({ name }) => nameOf(engine, name)),
    )
    const lasting = beside.flatMap((name) => {
      const measurements = measured.get(name)
      return measurements === undefined ? [] : checkTrouble(name, measurements)
    })
    return { ...result, checks: [...result.checks, ...lasting, ...checkOneTurn(measured)] }
  },
}

function listTroubles(engine: Engine): readonly Trouble[] {
  return TROUBLES.filter(
    ({ isForPostgresOnly }) => isForPostgresOnly !== true || engine === 'PostgreSQL',
  )
}

function nameOf(engine: Engine, trouble: string): string {
  return `${engine}, ${trouble}`
}

function goal(engine: Engine, trouble: string): Goal {
  const against = nameOf(engine, ALONE.name)
  return { of: nameOf(engine, trouble), against, figure: P99, atMost: RATIO_MAX }
}

function createContestant(context: BenchContext, engine: Engine, full: Trouble): Contestant {
  const { quick } = context.options
  const trouble = quick ? { ...full, events: full.events / 10 } : full
  const samples = quick ? 100 : 500
  return {
    name: nameOf(engine, trouble.name),
    runtime: 'ours',
    isOurs: true,
    settings: [{}],
    measure: async () => {
      if (engine === 'PostgreSQL')
        return context.withDatabase(async (postgres, pool) => {
          await pool.query(CREATE_TABLE)
          return measureBeside({ postgres, poolMax: 10 }, trouble, samples)
        })
      const sqlite = context.createFile('w13.db')
      const handle = (await openDriver('auto')).open(sqlite)
      handle.execute(CREATE_TABLE)
      handle.close()
      return measureBeside({ sqlite, poolMax: 0 }, trouble, samples)
    },
  }
}

/**
 * With one writer the quiet source cannot but wait for a handler that has written, which is more than five times as
 * long as alone. But it waits for no more than one, so that what is left is within the goal.
 */
function checkOneTurn(measured: Measured): readonly Check[] {
  const alone = measured.get(nameOf('SQLite', ALONE.name))
  const beside = measured.get(nameOf('SQLite', SLOW_WRITERS))
  if (alone === undefined || beside === undefined) return []
  const limits = alone.map(({ figures }) => SLOW_MS + RATIO_MAX * (figures?.[P99] ?? 0))
  const found = beside.map(({ figures }) => figures?.[P99] ?? Infinity)
  const isOk = found.every((p99Ms, round) => p99Ms <= (limits[round] ?? 0))
  const detail = found.map(
    (p99Ms, round) =>
      `p99 ${p99Ms.toFixed(1)} ms, one handler and ${RATIO_MAX} x alone are ${limits[round]?.toFixed(1)} ms`,
  )
  return [
    {
      name: 'SQLite, the quiet source waits for one slow handler and no second',
      isOk,
      detail: detail.join('; '),
    },
  ]
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
