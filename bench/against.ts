/**
 * Compares this tree with the package as it was at a commit, in turns in one run.
 *
 *     npm run against -- 8ca9270e              W2, W2b and W9
 *     npm run against -- 8ca9270e W2           some of them
 *     npm run against -- 8ca9270e --rounds 5   more rounds
 *     npm run against -- 8ca9270e --quick      short runs, to see that it works; keeps no results
 *     npm run against -- 8ca9270e --note "…"   a sentence to keep with the results
 *
 * Ends with 1 when an effect was lost or doubled. That this tree is slower is printed, and is not an error: the machine
 * may have been busy.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { AblationContestants } from './ablation/ablation-contestants.ts'
import { buildOf } from './ablation/build-of.ts'
import type { CommitBuild } from './ablation/build-of.ts'
import { compare } from './harness/compare.ts'
import { BenchContext } from './harness/context.ts'
import { describeMachine } from './harness/machine.ts'
import type { Contestant } from './harness/measurement.ts'
import { printResult, writeReadme, writeResult } from './harness/report.ts'

const WORKLOADS = ['W2', 'W2b', 'W9'] as const
type AgainstWorkload = (typeof WORKLOADS)[number]
/** Less than this is noise on a machine that has other work. */
const SLOWER_MAX = 0.9

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    note: { type: 'string' },
  },
})
const [revision, ...named] = positionals
const unknown = named.filter((name) => !WORKLOADS.some((workload) => workload === name))
if (revision === undefined || unknown.length > 0) {
  console.error(`Usage: npm run against -- COMMIT [${WORKLOADS.join(' | ')}]...`)
  process.exit(2)
}
const chosen = WORKLOADS.filter((name) => named.length === 0 || named.includes(name))
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
const before = buildOf(revision)

const context = await BenchContext.start({ quick: values.quick, rounds, only: '' })
try {
  const contestants = new AblationContestants(context)
  const machine = await describeMachine(context.admin, { hasPeers: false })
  for (const workload of chosen) {
    const title = `${workload}, this tree against ${before.commit}`
    console.log(`\n${title}`)
    const pairs = createPairs(contestants, workload, before)
    const compared = await compare({
      ...context.options,
      say: context.say,
      contestants: pairs.flat(),
      goals: pairs.flatMap(([{ name: of }, { name: against }]) => [
        { of, against, atLeast: SLOWER_MAX },
      ]),
    })
    const result = { workload: `against-${before.commit}-${workload}`, title, ...compared }
    printResult(result)
    if (result.checks.some(({ isOk }) => !isOk)) process.exitCode = 1
    if (values.quick) continue
    const command = `npm run against -- ${before.commit} ${workload} --rounds ${rounds}`
    const at = new Date().toISOString()
    writeResult({ command, at, rounds, note: values.note, machine, result })
  }
  if (!values.quick) writeReadme()
} finally {
  await context.close()
}

/** Each of this tree with what it is compared with. */
function createPairs(
  contestants: AblationContestants,
  workload: AgainstWorkload,
  { commit, build }: CommitBuild,
): readonly (readonly [Contestant, Contestant])[] {
  const now = { name: `${workload} now` }
  const then = { name: `${workload} at ${commit}`, build }
  if (workload !== 'W9')
    return [[contestants.create(workload, now), contestants.create(workload, then)]]
  const others = contestants.createDuplicates(then)
  return contestants.createDuplicates(now).flatMap((each, index) => {
    const other = others[index]
    return other === undefined ? [] : [[each, other] as const]
  })
}
