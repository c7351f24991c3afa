import { compare } from '../harness/compare.ts'
import type { Goal } from '../harness/measurement.ts'
import { measureMemory, serviceContestant } from '../harness/measure-service.ts'
import type { ServiceScript } from '../harness/measure-service.ts'
import type { Workload } from './workload.ts'

const OURS = ['hookonce on PostgreSQL', 'hookonce on SQLite'] as const
const MEMORY_MB_MAX = 250
const GROWTH_MAX = 1.1
/** Beats and looks at the queue are what an idle process does. */
const IDLE_MS_PER_S_MAX = 20

export const memory: Workload = {
  id: 'memory',
  title: '1,000,000 events through one process: the memory it holds, and what it does afterwards',
  async run(context) {
    const { quick } = context.options
    const task = { count: quick ? 20_000 : 1_000_000, idleMs: quick ? 2_000 : 10_000 }
    const entry = (name: string, script: ServiceScript, poolMax: number, isSqlite = false) =>
      serviceContestant(context, {
        name,
        script,
        settings: [{ poolMax }],
        isSqlite,
        measure: (service) => measureMemory(service, task),
      })
    return compare({
      ...context.options,
      // A million events need no second opinion.
      rounds: 1,
      say: context.say,
      contestants: [
        entry(OURS[0], 'run-hookonce', 20),
        entry(OURS[1], 'run-hookonce', 0, true),
        entry('a: no store', 'receive-null', 0),
        entry('b: one insert per request', 'receive-insert', 20),
        entry('c: textbook inbox', 'receive-textbook', 20),
      ],
      goals: OURS.flatMap((of): Goal[] => [
        { of, figure: 'memory MB', atMost: MEMORY_MB_MAX },
        { of, figure: 'memory late/early', atMost: GROWTH_MAX },
        { of, figure: 'idle ms/s', atMost: IDLE_MS_PER_S_MAX },
      ]),
    })
  },
}
