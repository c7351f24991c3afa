import { compare } from '../harness/compare.ts'
import { drainContestant } from '../harness/measure-drain.ts'
import type { Workload } from './workload.ts'

/** Started directly, many at once, which spares DBOS its queue. */
const DBOS = [
  { parallel: 20, poolMax: 20 },
  { parallel: 50, poolMax: 20 },
  { parallel: 100, poolMax: 40 },
]

const HOOKONCE = [
  { concurrency: 8, stepsMax: 64 },
  { concurrency: 12, stepsMax: 128 },
]

export const stepHandlers: Workload = {
  id: 'W10',
  title: 'Run step handlers of three steps: a write, an outside call, a write',
  async run(context) {
    const events = context.options.quick ? 1_000 : 5_000
    const task = { shape: 'two rows', events, runtime: 'newest' } as const
    return compare({
      ...context.options,
      say: context.say,
      contestants: [
        drainContestant(context, task, {
          name: 'hookonce, steps',
          script: 'steps-hookonce',
          settings: HOOKONCE,
        }),
        drainContestant(context, task, {
          name: 'DBOS, a workflow of three steps',
          script: 'steps-dbos',
          settings: DBOS,
        }),
      ],
      goals: [{ of: 'hookonce, steps', against: 'DBOS, a workflow of three steps', atLeast: 4 }],
    })
  },
}
