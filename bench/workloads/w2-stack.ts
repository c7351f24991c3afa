import { compare } from '../harness/compare.ts'
import { drainContestant } from '../harness/measure-drain.ts'
import type { LibraryName } from '../subjects/open-library.ts'
import type { Workload } from './workload.ts'

/** What the others are compared with: a handler that waits for the answer to its plain SQL. */
const PLAIN: LibraryName = 'tx.query'

const LIBRARIES: readonly LibraryName[] = [
  'tx.write',
  'Drizzle',
  'Kysely',
  'Knex',
  'postgres.js',
  'Prisma',
  'TypeORM',
  'Sequelize',
  'MikroORM',
]

/** No goals: what a library costs is its own affair, and is measured to be known. */
export const drainByLibrary: Workload = {
  id: 'W2-stack',
  title: 'Drain 10,000 stored events whose handler writes one row, by each database library',
  async run(context) {
    const events = context.options.quick ? 1_000 : 10_000
    const task = { shape: 'row', events, runtime: 'ours' } as const
    return compare({
      ...context.options,
      say: context.say,
      contestants: [PLAIN, ...LIBRARIES].map((library) =>
        drainContestant(context, task, {
          name: library,
          script: 'drain-stack',
          library,
          settings: [{ concurrency: 4, groupMax: 200 }],
        }),
      ),
      goals: LIBRARIES.flatMap((library) => [
        { of: library, against: PLAIN },
        { of: library, against: PLAIN, figure: 'own µs/event' } as const,
      ]),
    })
  },
}
