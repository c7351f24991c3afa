import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { CREATE_EFFECT, createEffectTables } from '../subjects/drain-config.ts'
import type { Shape } from '../subjects/drain-config.ts'
import { Subject } from './child.ts'
import type { Runtime } from './child.ts'
import type { BenchContext } from './context.ts'
import { costsPerEvent } from './costs-per-event.ts'
import { NO_DATABASE, PostgresWatch } from './database-watch.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { Contestant, Measurement, Setting } from './measurement.ts'
import { verifyEffects, verifySqliteEffects } from './verify-effects.ts'
import type { Effects } from './verify-effects.ts'

export type DrainScript =
  | 'drain-hookonce'
  | 'drain-stack'
  | 'drain-pg-boss'
  | 'drain-graphile'
  | 'drain-textbook'
  | 'steps-hookonce'
  | 'steps-dbos'

export interface DrainTask {
  readonly shape: Shape
  readonly events: number
  /** Of all that are compared: where one asks for the newest Node, the others run on it as well. */
  readonly runtime: Runtime
}

export interface DrainEntry {
  readonly name: string
  readonly script: DrainScript
  readonly settings: readonly Setting[]
  /** Where its compiled code is, if that is not what is in this tree. */
  readonly build?: string
  /** What the handler writes by, where that is what is compared. */
  readonly library?: string
}

export function drainContestant(
  context: BenchContext,
  task: DrainTask,
  { name, script, settings, build, library }: DrainEntry,
): Contestant {
  return {
    name,
    runtime: task.runtime,
    isOurs: script.endsWith('hookonce') || script === 'drain-stack',
    settings,
    measure: (setting) =>
      context.withDatabase(async (postgres, pool) => {
        await createEffectTables(pool)
        const subject = new Subject(
          script,
          { poolMax: 20, ...setting, ...task, postgres, library },
          task.runtime,
          build,
        )
        return measure(subject, task, {
          watch: new PostgresWatch(context.meter, postgres.database),
          settle: () => context.settle(pool),
          verify: () => verifyEffects(pool, task),
        })
      }),
  }
}

export function sqliteDrainContestant(
  context: BenchContext,
  task: DrainTask,
  { name, settings }: { name: string; settings: readonly Setting[] },
): Contestant {
  return {
    name,
    runtime: task.runtime,
    isOurs: true,
    settings,
    measure: async (setting) => {
      const sqlite = context.createFile('drain.db')
      const handle = (await openDriver('auto')).open(sqlite)
      handle.execute(CREATE_EFFECT)
      handle.close()
      const subject = new Subject(
        'drain-hookonce',
        { poolMax: 0, ...setting, ...task, sqlite },
        task.runtime,
      )
      return measure(subject, task, {
        watch: NO_DATABASE,
        settle: async () => {},
        verify: () => verifySqliteEffects(sqlite, task),
      })
    },
  }
}

interface Surroundings {
  readonly watch: DatabaseWatch
  readonly settle: () => Promise<void>
  readonly verify: () => Promise<Effects>
}

async function measure(
  subject: Subject,
  { events }: DrainTask,
  { watch, settle, verify }: Surroundings,
): Promise<Measurement> {
  try {
    await subject.next('filled')
    await settle()
    await watch.beforeConnections()
    await watch.start()
    subject.go()
    const { seconds, cpuUs, notes } = await subject.next('finished')
    await watch.end()
    await subject.stop()
    const database = await watch.spent(events)
    const figures = costsPerEvent({ events, ownCpuUs: cpuUs, database })
    return { rate: events / seconds, notes, figures, ...(await verify()) }
  } finally {
    await subject.stop()
  }
}
