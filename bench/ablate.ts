/**
 * Takes parts away that are there to be fast, one at a time, and measures what that costs.
 *
 *     npm run ablate                                 every part
 *     npm run ablate -- group-sizes pending-writes   some
 *     npm run ablate -- --rounds 5                   more rounds
 *     npm run ablate -- --quick                      short runs, to see that it works; keeps no results
 *     npm run ablate -- --note "…"                   a sentence to keep with the results
 *
 * For each part, the workloads that it was made for run with and without it in turns. The goal is that it wins a
 * tenth; what does not is a candidate to go. Each part has a result of its own, which is written when it was
 * measured. Ends with 1 when a change does not fit the source any more, or when an effect was lost or doubled.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { AblationContestants } from './ablation/ablation-contestants.ts'
import { buildWithout } from './ablation/build-without.ts'
import { describeAblation } from './ablation/describe-ablation.ts'
import type { Measured } from './ablation/describe-ablation.ts'
import { printAblation } from './ablation/print-ablation.ts'
import { PARTS } from './ablation/parts.ts'
import type { Part } from './ablation/parts.ts'
import { compare } from './harness/compare.ts'
import { BenchContext } from './harness/context.ts'
import { describeMachine } from './harness/machine.ts'
import type { WorkloadResult } from './harness/measurement.ts'
import { writeReadme, writeResult } from './harness/report.ts'

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
  const machine = await describeMachine(context.admin)
  const results: WorkloadResult[] = []
  for (const part of chosen) {
    const result = describeAblation(part, await ablate(part, contestants))
    results.push(result)
    // A part whose change does not fit the source was not measured: what is known of it stays.
    if (values.quick || result.ratios.length === 0) continue
    const at = new Date().toISOString()
    const command = `npm run ablate -- ${part.name} --rounds ${rounds}`
    writeResult({ command, at, rounds, note: values.note, machine, result })
  }
  printAblation(results)
  if (results.some(({ checks }) => checks.some(({ isOk }) => !isOk))) process.exitCode = 1
  if (!values.quick) writeReadme()
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
