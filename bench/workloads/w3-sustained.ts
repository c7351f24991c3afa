import { compare } from '../harness/compare.ts'
import { measureSustained, serviceContestant, sustainedTask } from '../harness/measure-service.ts'
import type { ServiceEntry } from '../harness/measure-service.ts'
import { createTables } from '../subjects/create-tables.ts'
import { fillDone } from '../subjects/fill-done.ts'
import type { RunConfig } from '../subjects/receive-config.ts'
import type { Workload } from './workload.ts'

const OURS = 'hookonce'
const ON_SQLITE = 'hookonce on SQLite'
const PG_BOSS = 'pg-boss, one send per request'
const RESTATE = 'Restate, idempotency key per request'

export const sustained: Workload = {
  id: 'W3',
  title: 'Sustained: receive, run and prune at once, for 5 minutes unless --seconds says otherwise',
  async run(context) {
    const { quick } = context.options
    const task = sustainedTask(context.options, 300)
    const old = quick ? 10_000 : 500_000
    const prepare = async (config: RunConfig) => {
      await createTables(config)
      await fillDone(config, old)
    }
    const entry = (rest: Omit<ServiceEntry, 'measure'>) =>
      serviceContestant(context, {
        ...rest,
        measure: (service) => measureSustained(service, task),
      })
    return compare({
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
      ],
    })
  },
}
