/**
 * A duplicate must not wait for the handler of its event: the sender would time out and send more.
 * Measured where it is hardest, with the memory of committed keys turned off, so that the database
 * decides while the handler's transaction is open; and as a user has it.
 *
 * @module
 */

import { compare } from '../harness/compare.ts'
import { duplicatesContestant } from '../harness/measure-duplicates.ts'
import type { Workload } from './workload.ts'

const ANSWER_MS_MAX = 50

export const duplicateWhileRunning: Workload = {
  id: 'W9',
  title:
    'A duplicate arrives while the handler of its event runs for 10 s: answered in under 50 ms',
  async run(context) {
    const contestants = DUPLICATE_CASES.map((each) => duplicatesContestant(context, each))
    const compared = await compare({ ...context.options, say: context.say, contestants, goals: [] })
    return {
      ...compared,
      checks: [
        ...compared.checks,
        ...compared.contestants.map(({ name, measurements }) => {
          const slowest = Math.max(
            ...measurements.map(({ figures }) => figures?.['answer slowest ms'] ?? 0),
          )
          const detail = `the slowest of all answers took ${slowest.toFixed(1)} ms`
          return { name: `${name}: answered at once`, isOk: slowest < ANSWER_MS_MAX, detail }
        }),
      ],
    }
  },
}

export const DUPLICATE_CASES = (
  [
    ['PostgreSQL', 'postgres'],
    ['SQLite', 'sqlite'],
  ] as const
).flatMap(([title, engine]) =>
  [
    { asks: 'asking the database', rememberMax: 0 },
    { asks: 'with every default', rememberMax: 50_000 },
  ].map(({ asks, rememberMax }) => ({ name: `${title}, ${asks}`, engine, rememberMax })),
)
