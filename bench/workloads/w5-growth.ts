import { compare } from '../harness/compare.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import type { FigureName } from '../harness/measurement.ts'
import { fillKeys } from '../subjects/fill-keys.ts'
import { RECEIVERS } from './w1-receive.ts'
import type { Workload } from './workload.ts'

const SIZES = [100_000, 1_000_000, 10_000_000]
const QUICK_SIZES = [1_000, 10_000, 100_000]
const SLOWER_MAX = 0.85
/** Where the time goes that looking for a key takes. */
const COSTS: Readonly<Record<string, FigureName>> = {
  PostgreSQL: 'database µs/event',
  SQLite: 'own µs/event',
}

export const growth: Workload = {
  id: 'W5',
  title: 'Growth: as W1, with so many keys of earlier events stored',
  async run(context) {
    const sizes = context.options.quick ? QUICK_SIZES : SIZES
    const bench = new ReceiveBench(context)
    const nameOf = (engine: string, keys: number) => `${engine}, ${keys.toLocaleString('en')} keys`
    const engines = Object.keys(COSTS)
    return compare({
      ...context.options,
      say: context.say,
      contestants: engines.flatMap((engine) =>
        sizes.map((keys) =>
          bench.contestant({
            ...RECEIVERS.ours,
            name: nameOf(engine, keys),
            isSqlite: engine === 'SQLite',
            prepare: (config) => fillKeys(config, keys),
          }),
        ),
      ),
      goals: engines.flatMap((engine) =>
        sizes.slice(1).flatMap((keys) => {
          const compared = { of: nameOf(engine, keys), against: nameOf(engine, sizes[0]!) }
          return [
            { ...compared, atLeast: SLOWER_MAX },
            // What of it a machine that has other work to do does not change.
            { ...compared, figure: COSTS[engine]!, atMost: 1 / SLOWER_MAX },
          ]
        }),
      ),
    })
  },
}
