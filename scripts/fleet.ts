/**
 * Runs several gateways over one PostgreSQL, as processes of the built command, and counts what reached the service
 * behind them.
 *
 *     npm run fleet -- --events 6000 --rounds 3 --between 1500
 *
 * First one receiver, one worker and one relay against three, three and two: the same events through both, in turn,
 * and the ratio of their rates. Then every process of the larger fleet is restarted in turn under load. Exits with 1
 * when an event that was answered is lost, came under two ids or had two effects, or when a sender saw an answer
 * other than 200 and 503 with `Retry-After`, or a connection that ended under its delivery.
 *
 * @module
 */

import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { medianOf } from '../bench/harness/measure-ratio.ts'
import { runSteadily, runThroughRestarts } from '../test/support/gateway/fleet-run.ts'
import type { FleetCounts, FleetPlan } from '../test/support/gateway/fleet-run.ts'
import type { FleetShape } from '../test/support/gateway/gateway-fleet.ts'
import { createPostgres } from '../test/support/postgres/postgres-database.ts'
import { postgresUrl } from '../test/support/postgres/postgres-url.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const ONE_OF_EACH: FleetShape = { receivers: 1, workers: 1, relays: 1 }
const SEVERAL: FleetShape = { receivers: 3, workers: 3, relays: 2 }

const { events, rounds, between, senders } = readArguments()
const server = await startPostgres()
let isBroken = false
try {
  await compareRates()
  await restartUnderLoad()
} finally {
  await server.dispose()
}
process.exit(isBroken ? 1 : 0)

function readArguments() {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '6000' },
      rounds: { type: 'string', default: '3' },
      between: { type: 'string', default: '1500' },
      senders: { type: 'string', default: '32' },
    },
  })
  const given = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Number(value)]),
  ) as Record<keyof typeof values, number>
  if (Object.values(given).every((value) => Number.isSafeInteger(value) && value > 0)) return given
  console.error('Usage: fleet [--events N] [--rounds N] [--between N] [--senders N]')
  process.exit(2)
}

/** The order changes from round to round: on a machine with other work to do, what comes second may fare worse. */
async function compareRates(): Promise<void> {
  const ratios: { readonly answered: number; readonly arrived: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const isTurned = round % 2 === 1
    const first = await measure(isTurned ? SEVERAL : ONE_OF_EACH)
    const second = await measure(isTurned ? ONE_OF_EACH : SEVERAL)
    const [one, several] = isTurned ? [second, first] : [first, second]
    ratios.push({
      answered: one.answeredSeconds / several.answeredSeconds,
      arrived: one.arrivedSeconds / several.arrivedSeconds,
    })
  }
  console.log(`ratio to one of each, answered: ${spread(ratios.map(({ answered }) => answered))}`)
  console.log(`ratio to one of each, arrived: ${spread(ratios.map(({ arrived }) => arrived))}`)
}

async function measure(shape: FleetShape): Promise<FleetCounts> {
  const counts = await onDatabase((store) => runSteadily(planFor(shape, store), events))
  const [answered, arrived] = [counts.answeredSeconds, counts.arrivedSeconds].map((seconds) =>
    Math.round(events / seconds).toLocaleString('en'),
  )
  report(`${nameOf(shape)}: ${answered}/s answered, ${arrived}/s arrived`, counts)
  return counts
}

async function restartUnderLoad(): Promise<void> {
  const counts = await onDatabase((store) => runThroughRestarts(planFor(SEVERAL, store), between))
  report(`${nameOf(SEVERAL)}: ${counts.exitCodes.length} restarts under load`, counts)
}

function planFor(shape: FleetShape, store: string): FleetPlan {
  return { shape, store, senders, main: MAIN }
}

/** A new database for each run, so that none pays for what another has left. */
async function onDatabase(run: (store: string) => Promise<FleetCounts>): Promise<FleetCounts> {
  const database = await createPostgres(server.config)
  try {
    return await run(postgresUrl(database.config))
  } finally {
    await database.close().catch(() => undefined)
  }
}

function report(title: string, counts: FleetCounts): void {
  const { acknowledged, deliveries, answers, requests, webhookIds, effects, lost, doubled } = counts
  const answered = Object.entries(answers).map(([answer, times]) => `${times} × ${answer}`)
  console.log(title)
  console.log(`  ${acknowledged} events in ${deliveries} deliveries: ${answered.join(', ')}`)
  console.log(
    `  ${requests} requests to the service, ${webhookIds} webhook-ids, ${effects} effects, ${lost.length} lost, ${doubled.length} doubled`,
  )
  if (isKept(counts)) return
  isBroken = true
  console.error(`BROKEN: ${JSON.stringify(counts)}`)
}

function isKept(counts: FleetCounts): boolean {
  const { acknowledged, arrived, webhookIds, effects, lost, doubled, unexpected } = counts
  const isOnce = [arrived, webhookIds, effects].every((count) => count === acknowledged)
  const isInOrder = counts.exitCodes.every((code) => code === 0) && unexpected.length === 0
  return acknowledged > 0 && isOnce && isInOrder && lost.length === 0 && doubled.length === 0
}

function nameOf({ receivers, workers, relays }: FleetShape): string {
  return `${receivers} receivers, ${workers} workers, ${relays} relays`
}

function spread(ratios: readonly number[]): string {
  const [median, min, max] = [medianOf(ratios), Math.min(...ratios), Math.max(...ratios)]
  return `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`
}
