/**
 * Takes parts away that are there to be fast, one at a time, and measures what that costs.
 *
 *     npm run ablate                              every part
 *     npm run ablate -- turns group-sizes         some
 *     npm run ablate -- --rounds 5                more rounds
 *     npm run ablate -- --quick                   short runs, to see that it works; keeps no results
 *     npm run ablate -- --note "…"                a sentence to keep with the results
 *
 * For each part, the workloads that it was made for run with and without it in turns. The goal is that it wins a
 * tenth; what does not is a candidate to go. Ends with 1 when a change does not fit the source any more, or when an
 * effect was lost or doubled.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { AblationContestants } from './ablation/ablation-contestants.ts'
import { buildWithout } from './ablation/build-without.ts'
import { printAblation } from './ablation/print-ablation.ts'
import { PARTS } from './ablation/parts.ts'
import type { Part } from './ablation/parts.ts'
import { compare } from './harness/compare.ts'
import { BenchContext } from './harness/context.ts'
import { describeMachine } from './harness/machine.ts'
import type { WorkloadResult } from './harness/measurement.ts'
import { writeReadme, writeResult } from './harness/report.ts'

type Measured = Pick<WorkloadResult, 'contestants' | 'ratios' | 'checks'>

/** What a part has to win to stay. */
const WIN = 1.1

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    note: { type: 'string' },
  },
})
const unknown = positionals.filter((name) => !PARTS.some((part) => part.name === name))
if (unknown.length > 0) {
  const known = PARTS.map(({ name }) => name).join(', ')
  console.error(`There is no part ${unknown.join(', ')}. Known: ${known}`)
  process.exit(2)
}
const chosen = PARTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))

const context = await BenchContext.start({ quick: values.quick, rounds, only: '' })
try {
  const contestants = new AblationContestants(context)
  const measured: Measured[] = []
  for (const part of chosen) measured.push(await ablate(part, contestants))
  const result: WorkloadResult = {
    workload: 'ablation',
    title: 'Each part that is there to be fast, with it and without it',
    contestants: measured.flatMap((each) => each.contestants),
    ratios: measured.flatMap((each) => each.ratios),
    checks: measured.flatMap((each) => each.checks),
  }
  printAblation(result)
  if (result.checks.some(({ isOk }) => !isOk)) process.exitCode = 1
  if (!values.quick) {
    writeResult({
      command: ['npm run ablate', '--', ...positionals, '--rounds', rounds].join(' '),
      at: new Date().toISOString(),
      rounds,
      note: values.note,
      machine: await describeMachine(context.admin),
      result,
    })
    writeReadme()
  }
} finally {
  await context.close()
}

async function ablate(part: Part, contestants: AblationContestants): Promise<Measured> {
  console.log(`\n${part.name}: without it, ${part.without}`)
  const built = buildWithout(part)
  if ('stale' in built) {
    const check = { name: `${part.name} can be taken away`, isOk: false, detail: built.stale }
    return { contestants: [], ratios: [], checks: [check] }
  }
  const pairs = part.workloads.map((workload) => ({
    workload,
    on: `${workload} with ${part.name}`,
    off: `${workload} without ${part.name}`,
  }))
  return compare({
    ...context.options,
    say: context.say,
    contestants: pairs.flatMap(({ workload, on, off }) => [
      contestants.create(workload, { name: on }),
      contestants.create(workload, { name: off, build: built.build }),
    ]),
    goals: pairs.flatMap(({ on: of, off: against }) => [
      { of, against, atLeast: WIN },
      { of, against, figure: 'own µs/event', atMost: 1 / WIN },
      { of, against, figure: 'database µs/event', atMost: 1 / WIN },
    ]),
  })
}
