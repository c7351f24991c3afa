/**
 * Runs the workloads that are named, or all of them.
 *
 *     npm run bench                       every workload
 *     npm run bench -- W2 W9              some
 *     npm run bench -- --quick            short runs, to see that it works; keeps no results
 *     npm run bench -- --rounds 5         more rounds
 *     npm run bench -- W3 --seconds 90    shorter than W3 and W6 are by themselves: 5 and 10 minutes
 *     npm run bench -- --note "…"         a sentence to keep with the results
 *     npm run bench -- W2 --only hookonce only the contestants with that in their name; keeps no results
 *
 * `BENCH_NODE_ARGS` is given to the subjects' Node, for a profile: `BENCH_NODE_ARGS=--cpu-prof`.
 *
 * Ends with 1 when a workload lost or doubled an effect or another check failed. A goal that was not
 * reached is printed, and is not an error: the machine may have been busy.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { BenchContext } from './harness/context.ts'
import { describeMachine } from './harness/machine.ts'
import { printResult, writeReadme, writeResult } from './harness/report.ts'
import { relayMessages } from './workloads/w11-relay.ts'
import { receiveOverHttp } from './workloads/w1-receive.ts'
import { drainStored } from './workloads/w2-drain.ts'
import { drainByLibrary } from './workloads/w2-stack.ts'
import { drainSharedRows } from './workloads/w2b-shared-rows.ts'
import { onSqlite } from './workloads/w8-sqlite.ts'
import { memory } from './workloads/memory.ts'
import { sustained } from './workloads/w3-sustained.ts'
import { growth } from './workloads/w5-growth.ts'
import { besideOpenTransaction } from './workloads/w6-open-transaction.ts'
import { stormOfDuplicates } from './workloads/w4-storm.ts'
import { latencyAtHalfRate } from './workloads/w7-latency.ts'
import { duplicateWhileRunning } from './workloads/w9-duplicate-while-running.ts'
import { pruneBesideDeliveries } from './workloads/w14-prune.ts'
import { stepHandlers } from './workloads/w10-steps.ts'
import { fairness } from './workloads/w13-fairness.ts'

const WORKLOADS = [
  receiveOverHttp,
  drainStored,
  drainSharedRows,
  drainByLibrary,
  sustained,
  stormOfDuplicates,
  growth,
  besideOpenTransaction,
  latencyAtHalfRate,
  onSqlite,
  duplicateWhileRunning,
  pruneBesideDeliveries,
  relayMessages,
  stepHandlers,
  fairness,
  memory,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    note: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const unknown = positionals.filter((id) => !WORKLOADS.some((workload) => workload.id === id))
if (unknown.length > 0) {
  console.error(
    `There is no workload ${unknown.join(', ')}. Known: ${WORKLOADS.map(({ id }) => id).join(', ')}`,
  )
  process.exit(2)
}
const chosen = WORKLOADS.filter(({ id }) => positionals.length === 0 || positionals.includes(id))
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3))
const words = process.argv
  .slice(2)
  .filter((word, index, all) => word !== '--note' && all[index - 1] !== '--note')

let isOk = true
const keepsResults = !values.quick && values.only === ''
const context = await BenchContext.start({
  quick: values.quick,
  rounds,
  seconds: values.seconds === undefined ? undefined : Number(values.seconds),
  only: values.only,
})
try {
  const machine = await describeMachine(context.admin)
  for (const { id, title, rounds: own = rounds, run } of chosen) {
    console.log(`\n${id}  ${title}`)
    const result = { workload: id, title, ...(await run(context)) }
    printResult(result)
    if (result.checks.some((check) => !check.isOk)) isOk = false
    if (!keepsResults) continue
    writeResult({
      command: `npm run bench${words.length > 0 ? ` -- ${words.join(' ')}` : ''}`,
      at: new Date().toISOString(),
      rounds: own,
      note: values.note,
      machine,
      result,
    })
  }
  if (keepsResults) writeReadme()
} finally {
  await context.close()
}
if (!isOk) process.exit(1)
