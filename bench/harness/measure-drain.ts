import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { CREATE_EFFECT, createEffectTables } from '../subjects/drain-config.ts'
import type { Shape } from '../subjects/drain-config.ts'
import { Subject } from './child.ts'
import type { Runtime } from './child.ts'
import type { BenchContext } from './context.ts'
import type { Contestant, Measurement, Setting } from './measurement.ts'
import { verifyEffects, verifySqliteEffects } from './verify-effects.ts'
import type { Effects } from './verify-effects.ts'

export type DrainScript =
  | 'drain-hookonce'
  | 'drain-pg-boss'
  | 'drain-graphile'
  | 'drain-textbook'
  | 'steps-hookonce'
  | 'steps-dbos'

export interface DrainTask {
  readonly shape: Shape
  readonly events: number
  /** Of all who are compared: where one asks for the newest Node, the others run on it as well. */
  readonly runtime: Runtime
}

export function drainContestant(
  context: BenchContext,
  task: DrainTask,
  { name, script, settings }: { name: string; script: DrainScript; settings: readonly Setting[] },
): Contestant {
  return {
    name,
    runtime: task.runtime,
    isOurs: script.endsWith('hookonce'),
    settings,
    measure: (setting) =>
      context.withDatabase(async (postgres, pool) => {
        await createEffectTables(pool)
        const subject = new Subject(
          script,
          { poolMax: 20, ...setting, ...task, postgres },
          task.runtime,
        )
        return measure(subject, task, {
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
        settle: async () => {},
        verify: () => verifySqliteEffects(sqlite, task),
      })
    },
  }
}

async function measure(
  subject: Subject,
  { events }: DrainTask,
  { settle, verify }: { settle: () => Promise<void>; verify: () => Promise<Effects> },
): Promise<Measurement> {
  try {
    await subject.next('filled')
    await settle()
    subject.go()
    const { seconds, notes } = await subject.next('finished')
    await subject.stop()
    return { rate: events / seconds, notes, ...(await verify()) }
  } finally {
    await subject.stop()
  }
}
