import { compare } from '../harness/compare.ts'
import { drainContestant, sqliteDrainContestant } from '../harness/measure-drain.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import type { Workload } from './workload.ts'

export const onSqlite: Workload = {
  id: 'W8',
  title: 'SQLite with full sync: receive as in W1, drain as in W2',
  async run(context) {
    const bench = new ReceiveBench(context)
    const received = await compare({
      ...context.options,
      say: context.say,
      contestants: [
        bench.contestant('receive: hookonce on SQLite', 'receive-hookonce', [{ poolMax: 0 }], true),
        bench.contestant('receive: no store', 'receive-null', [{ poolMax: 0 }]),
      ],
      goals: [{ of: 'receive: hookonce on SQLite', against: 'receive: no store', atLeast: 0.7 }],
    })
    const events = context.options.quick ? 10_000 : 50_000
    const task = { shape: 'row', events, runtime: 'ours' } as const
    const settings = [{ concurrency: 4, groupMax: 200 }]
    const drained = await compare({
      ...context.options,
      say: context.say,
      contestants: [
        sqliteDrainContestant(context, task, { name: 'drain: hookonce on SQLite', settings }),
        drainContestant(context, task, {
          name: 'drain: hookonce on PostgreSQL',
          script: 'drain-hookonce',
          settings,
        }),
      ],
      goals: [
        { of: 'drain: hookonce on SQLite', against: 'drain: hookonce on PostgreSQL', atLeast: 1 },
      ],
    })
    return {
      contestants: [...received.contestants, ...drained.contestants],
      ratios: [...received.ratios, ...drained.ratios],
      checks: [...received.checks, ...drained.checks],
    }
  },
}
