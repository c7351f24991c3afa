import { compare } from '../harness/compare.ts'
import type { Check, Measurement } from '../harness/measurement.ts'
import { measureSustained, serviceContestant, sustainedTask } from '../harness/measure-service.ts'
import type { ServiceEntry } from '../harness/measure-service.ts'
import { createTables } from '../subjects/create-tables.ts'
import { fillDone } from '../subjects/fill-done.ts'
import type { RunConfig } from '../subjects/receive-config.ts'
import type { Workload } from './workload.ts'

const OURS = 'hookonce'
const WAITS = 'ours, waiting for each write'
const ON_SQLITE = 'hookonce on SQLite'
const PG_BOSS = 'pg-boss, one send per request'
const RESTATE = 'Restate, idempotency key per request'

/**
 * Old events for each second of the run, so that there are some to remove until its end: beside 200 deliveries a second
 * W14 removed 5,500 a second.
 */
const OLD_PER_SECOND = 6_000

export const sustained: Workload = {
  id: 'W3',
  title: 'Sustained: receive, run and prune at once, for 5 minutes unless --seconds says otherwise',
  async run(context) {
    const task = sustainedTask(context.options, 300)
    const old = OLD_PER_SECOND * task.seconds
    const prepare = async (config: RunConfig) => {
      await createTables(config)
      await fillDone(config, old)
    }
    const entry = (rest: Omit<ServiceEntry, 'measure'>) =>
      serviceContestant(context, {
        ...rest,
        measure: (service) => measureSustained(service, task),
      })
    const result = await compare({
      ...context.options,
      say: context.say,
      contestants: [
        entry({
          name: OURS,
          script: 'run-hookonce',
          settings: [{ poolMax: 20, prunes: true }],
          prepare,
        }),
        entry({
          name: WAITS,
          script: 'run-hookonce',
          settings: [{ poolMax: 20, prunes: true, waits: true }],
          prepare,
        }),
        entry({
          name: ON_SQLITE,
          script: 'run-hookonce',
          settings: [{ poolMax: 0, prunes: true }],
          isSqlite: true,
          prepare,
        }),
        // Its best setting in W2; to try them all here would take half an hour.
        entry({
          name: PG_BOSS,
          script: 'run-pg-boss',
          settings: [{ poolMax: 20, batchSize: 1_000, localConcurrency: 4 }],
          runtime: 'newest',
        }),
        entry({
          name: RESTATE,
          script: 'run-restate',
          settings: [{ poolMax: 20 }],
          runtime: 'newest',
        }),
      ],
      goals: [
        { of: OURS, against: PG_BOSS, atLeast: 3 },
        { of: OURS, against: RESTATE, atLeast: 3 },
        { of: OURS, figure: 'rate late/early', atLeast: 0.95 },
        { of: ON_SQLITE, figure: 'rate late/early', atLeast: 0.95 },
        { of: WAITS, against: PG_BOSS },
        { of: WAITS, against: OURS },
      ],
    })
    const pruning = result.contestants
      .filter(({ setting }) => setting['prunes'] === true)
      .map(({ name, measurements }) => checkPruning(name, measurements))
    return { ...result, checks: [...result.checks, ...pruning] }
  },
}

/** Pruned for a part of the time, the rate of the rest would be that of a database that nothing prunes. */
function checkPruning(name: string, measurements: readonly Measurement[]): Check {
  const isOk = measurements.every(({ notes }) => notes['prunes at the end'] === 1)
  const detail = isOk ? 'there was more to remove' : 'all was removed before the end'
  return { name: `${name} prunes until the end`, isOk, detail }
}
