import { compare } from '../harness/compare.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import { STORM } from '../load/storm-order.ts'
import { RECEIVERS } from './w1-receive.ts'
import type { Workload } from './workload.ts'

const { ours, ceiling, insert, textbook } = RECEIVERS
const ON_SQLITE = 'hookonce on SQLite'

export const stormOfDuplicates: Workload = {
  id: 'W4',
  title: 'A storm of duplicates: as W1, and 99 of 100 requests were sent before',
  async run(context) {
    const bench = new ReceiveBench(context, STORM)
    return compare({
      ...context.options,
      say: context.say,
      contestants: [
        bench.contestant(ours),
        bench.contestant({ ...ours, name: ON_SQLITE, isSqlite: true }),
        bench.contestant(ceiling),
        bench.contestant(insert),
        bench.contestant(textbook),
      ],
      goals: [
        { of: ours.name, against: ceiling.name, atLeast: 0.8 },
        { of: ours.name, figure: 'statements/100 requests', atMost: 2 },
        { of: ON_SQLITE, against: ceiling.name, atLeast: 0.8 },
        { of: ours.name, against: insert.name, figure: 'database µs/event', atMost: 0.1 },
      ],
    })
  },
}
