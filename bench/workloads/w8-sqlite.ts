import { findNewerNode, nodeVersionOf } from '../harness/child.ts'
import type { Runtime } from '../harness/child.ts'
import { compare } from '../harness/compare.ts'
import { drainContestant, sqliteDrainContestant } from '../harness/measure-drain.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import type { BenchContext } from '../harness/context.ts'
import { RECEIVERS } from './w1-receive.ts'
import type { Workload } from './workload.ts'

/** On Node 20 the binding is libsql; on a newer one, where there is one, it is Node's own. */
export const onSqlite: Workload = {
  id: 'W8',
  title: 'SQLite with full sync: receive as in W1, drain as in W2, on this Node and a newer one',
  async run(context) {
    const runtimes: Runtime[] = findNewerNode() === undefined ? ['ours'] : ['ours', 'newer']
    const received = await receive(context, runtimes)
    const drained = await drain(context, runtimes)
    return {
      contestants: [...received.contestants, ...drained.contestants],
      ratios: [...received.ratios, ...drained.ratios],
      checks: [...received.checks, ...drained.checks],
    }
  },
}

function receive(context: BenchContext, runtimes: readonly Runtime[]): ReturnType<typeof compare> {
  const bench = new ReceiveBench(context)
  const { ours, ceiling } = RECEIVERS
  const pairs = runtimes.map((runtime) => {
    const on = `Node ${nodeVersionOf(runtime)}`
    return {
      sqlite: { ...ours, name: `receive: hookonce on SQLite, ${on}`, isSqlite: true, runtime },
      ceiling: { ...ceiling, name: `receive: no store, ${on}`, runtime },
    }
  })
  return compare({
    ...context.options,
    say: context.say,
    contestants: pairs.flatMap((pair) => [
      bench.contestant(pair.sqlite),
      bench.contestant(pair.ceiling),
    ]),
    goals: pairs.map((pair) => ({
      of: pair.sqlite.name,
      against: pair.ceiling.name,
      atLeast: 0.7,
    })),
  })
}

function drain(context: BenchContext, runtimes: readonly Runtime[]): ReturnType<typeof compare> {
  const events = context.options.quick ? 10_000 : 50_000
  const settings = [{ concurrency: 4, groupMax: 200 }]
  const pairs = runtimes.map((runtime) => {
    const task = { shape: 'row', events, runtime } as const
    const on = `Node ${nodeVersionOf(runtime)}`
    return {
      sqlite: sqliteDrainContestant(context, task, {
        name: `drain: hookonce on SQLite, ${on}`,
        settings,
      }),
      postgres: drainContestant(context, task, {
        name: `drain: hookonce on PostgreSQL, ${on}`,
        script: 'drain-hookonce',
        settings,
      }),
    }
  })
  return compare({
    ...context.options,
    say: context.say,
    contestants: pairs.flatMap(({ sqlite, postgres }) => [sqlite, postgres]),
    goals: pairs.map(({ sqlite, postgres }) => ({
      of: sqlite.name,
      against: postgres.name,
      atLeast: 1,
    })),
  })
}
