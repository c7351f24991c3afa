/**
 * Runs several gateways over one PostgreSQL, as processes of the built command, and counts what reached the service
 * behind them.
 *
 *     npm run fleet -- --events 6000 --rounds 3 --between 1500
 *
 * First one receiver, one worker and one relay against three, three and two: the same events through both, in turn,
 * and the ratio of their rates. Then every process of the larger fleet is restarted in turn under load. Exits with 1
 * when an event that was answered is lost, came under two ids or had two effects, or when a sender saw an answer
 * other than 200 and 503 with `Retry-After`, or a connection that ended under its delivery. With `--keep` the result is
 * kept in `bench/results`.
 *
 * @module
 */

import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measureRatio } from '../bench/harness/measure-ratio.ts'
import type {
  Check,
  Goal,
  MeasuredContestant,
  MeasuredRatio,
  Measurement,
} from '../bench/harness/measurement.ts'
import { describeSpread } from '../bench/harness/report.ts'
import { runSteadily, runThroughRestarts } from '../test/support/gateway/fleet-run.ts'
import type { FleetCounts, FleetPlan } from '../test/support/gateway/fleet-run.ts'
import type { FleetShape } from '../test/support/gateway/gateway-fleet.ts'
import { createPostgres } from '../test/support/postgres/postgres-database.ts'
import { postgresUrl } from '../test/support/postgres/postgres-url.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import { keepMeasured } from './keep-measured.ts'

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const ONE_OF_EACH: FleetShape = { receivers: 1, workers: 1, relays: 1 }
const SEVERAL: FleetShape = { receivers: 3, workers: 3, relays: 2 }

/** What is compared: the events that arrived in a second, and the deliveries that were answered. */
const GOALS: readonly Goal[] = [
  { of: nameOf(SEVERAL), against: nameOf(ONE_OF_EACH) },
  { of: nameOf(SEVERAL), against: nameOf(ONE_OF_EACH), figure: 'answers/s' },
]

const { events, rounds, between, senders, keep } = readArguments()
const checks: Check[] = []
const server = await startPostgres()
try {
  const { measurements, ratios } = await compareRates()
  await restartUnderLoad()
  if (keep) keepRun(measurements, ratios)
} finally {
  await server.dispose()
}
process.exit(checks.every(({ isOk }) => isOk) ? 0 : 1)

function readArguments() {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '6000' },
      rounds: { type: 'string', default: '3' },
      between: { type: 'string', default: '1500' },
      senders: { type: 'string', default: '32' },
      keep: { type: 'boolean', default: false },
    },
  })
  const { keep: isKeeping, ...texts } = values
  const given = Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [name, Number(value)]),
  ) as Record<keyof typeof texts, number>
  if (Object.values(given).every((value) => Number.isSafeInteger(value) && value > 0))
    return { ...given, keep: isKeeping }
  console.error('Usage: fleet [--events N] [--rounds N] [--between N] [--senders N] [--keep]')
  process.exit(2)
}

type Measurements = ReadonlyMap<string, Measurement[]>

/** The order changes from round to round: on a machine with other work to do, what comes second may fare worse. */
async function compareRates(): Promise<{
  readonly measurements: Measurements
  readonly ratios: readonly MeasuredRatio[]
}> {
  const shapes = [ONE_OF_EACH, SEVERAL]
  const measurements = new Map(shapes.map((shape) => [nameOf(shape), [] as Measurement[]]))
  for (let round = 0; round < rounds; round += 1)
    for (const shape of round % 2 === 1 ? shapes.toReversed() : shapes)
      measurements.get(nameOf(shape))?.push(await measure(shape))
  const ratios = GOALS.flatMap((goal) => measureRatio(goal, measurements) ?? [])
  for (const ratio of ratios)
    console.log(
      `ratio to one of each, ${ratio.figure ?? 'events/s that arrived'}: ${describeSpread(ratio)}`,
    )
  return { measurements, ratios }
}

async function measure(shape: FleetShape): Promise<Measurement> {
  const counts = await onDatabase((store) => runSteadily(planFor(shape, store), events))
  const rate = events / counts.arrivedSeconds
  const answers = counts.deliveries / counts.answeredSeconds
  const [arrived, answered] = [rate, answers].map((each) => Math.round(each).toLocaleString('en'))
  report(`${nameOf(shape)}: ${arrived} events/s arrived, ${answered} answers/s`, counts)
  const [lost, doubled] = [counts.lost.length, counts.doubled.length]
  return { rate, lost, doubled, notes: {}, figures: { 'answers/s': answers } }
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
  const sent = `${acknowledged} events in ${deliveries} deliveries: ${answered.join(', ')}`
  const came = `${requests} requests to the service, ${webhookIds} webhook-ids, ${effects} effects, ${lost.length} lost, ${doubled.length} doubled`
  console.log(`${title}\n  ${sent}\n  ${came}`)
  const isOk = isKept(counts)
  checks.push({ name: title, isOk, detail: `${sent}; ${came}` })
  if (!isOk) console.error(`BROKEN: ${JSON.stringify(counts)}`)
}

function isKept(counts: FleetCounts): boolean {
  const { acknowledged, arrived, webhookIds, effects, lost, doubled, unexpected } = counts
  const isOnce = [arrived, webhookIds, effects].every((count) => count === acknowledged)
  const isInOrder = counts.exitCodes.every((code) => code === 0) && unexpected.length === 0
  return acknowledged > 0 && isOnce && isInOrder && lost.length === 0 && doubled.length === 0
}

function nameOf({ receivers, workers, relays }: FleetShape): string {
  const counts = { receiver: receivers, worker: workers, relay: relays }
  const parts = Object.entries(counts).map(
    ([role, count]) => `${count} ${role}${count === 1 ? '' : 's'}`,
  )
  return parts.join(', ')
}

function keepRun(measurements: Measurements, ratios: readonly MeasuredRatio[]): void {
  const contestants = [...measurements].map(([name, measured]): MeasuredContestant => ({
    name,
    runtime: 'ours',
    setting: { senders, events },
    tried: [],
    measurements: measured,
  }))
  keepMeasured({
    id: 'fleet',
    title:
      'Receivers, workers and relays as processes of the built command over one PostgreSQL, and each restarted under load',
    runBy: 'npm run fleet --',
    rounds,
    compared: { contestants, ratios },
    checks,
    measured: { between },
  })
}
