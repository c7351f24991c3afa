/**
 * Kills a gateway with -9 at random while signed events come in, and counts what reached the service behind it.
 *
 *     npm run crash:gateway -- --kills 200 --store both --seed 42
 *
 * The gateway is the command as it is built. Says what it counted for each store, and exits with 1 when an event that
 * was answered is lost, or came under two ids, or had two effects, or an answer was neither 200 nor 503. With `--keep`
 * the counts are kept in `bench/results`.
 *
 * @module
 */

import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Random } from '../test/support/faults/random.ts'
import { crashGateway, isKept } from '../test/support/gateway/crash-gateway.ts'
import type { CrashCounts } from '../test/support/gateway/crash-gateway.ts'
import { createPostgres } from '../test/support/postgres/postgres-database.ts'
import { postgresUrl } from '../test/support/postgres/postgres-url.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import { keepMeasured } from './keep-measured.ts'

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
type Engine = 'sqlite' | 'postgres'

const { kills, seed, engines, keep } = readArguments()
console.log(`seed ${seed}, ${kills} kills on ${engines.join(' and ')}`)
for (const engine of engines) {
  const counts = await runOn(engine)
  console.log(describe(engine, counts))
  if (keep) keepCounts(engine, counts)
  if (isKept(counts)) continue
  console.error(`BROKEN on ${engine} with seed ${seed}: ${JSON.stringify(counts)}`)
  process.exit(1)
}
process.exit(0)

interface Arguments {
  readonly kills: number
  readonly seed: number
  readonly engines: readonly Engine[]
  readonly keep: boolean
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      store: { type: 'string', default: 'both' },
      keep: { type: 'boolean', default: false },
    },
  })
  const given = { kills: Number(values.kills), seed: Number(values.seed) }
  const isKnown = ['postgres', 'sqlite', 'both'].includes(values.store)
  if (!(given.kills > 0) || !Number.isSafeInteger(given.seed) || !isKnown) {
    console.error(
      'Usage: crash:gateway [--kills N] [--seed N] [--store postgres|sqlite|both] [--keep]',
    )
    process.exit(2)
  }
  const engines = values.store === 'both' ? ['sqlite', 'postgres'] : [values.store]
  return { ...given, engines: engines as Engine[], keep: values.keep }
}

async function runOn(engine: Engine): Promise<CrashCounts> {
  const onKill = (done: number): void => {
    if (done % 20 === 0) console.log(`${engine}: ${done} kills`)
  }
  const plan = { kills, random: new Random(seed), main: MAIN, onKill }
  if (engine === 'sqlite') return crashGateway({ ...plan, store: 'sqlite:hookonce.db' })
  const server = await startPostgres()
  const database = await createPostgres(server.config)
  try {
    return await crashGateway({ ...plan, store: postgresUrl(database.config) })
  } finally {
    await database.close().catch(() => undefined)
    await server.dispose()
  }
}

function keepCounts(engine: Engine, counts: CrashCounts): void {
  const [sent, arrived] = countInWords(counts)
  keepMeasured({
    id: `killed-gateway-${engine}`,
    title: `A gateway that is killed with -9 ${counts.kills} times under load, on ${engine}`,
    runBy: 'npm run crash:gateway --',
    checks: [
      {
        name: 'what was answered arrived, under one id and with one effect',
        isOk: isKept(counts),
        detail: `seed ${seed}: ${sent}; ${arrived}`,
      },
    ],
    measured: { seed, ...counts },
  })
}

function describe(engine: Engine, counts: CrashCounts): string {
  return countInWords(counts)
    .map((words) => `${engine}: ${words}`)
    .join('\n')
}

/** What was sent, and what came of it. */
function countInWords(counts: CrashCounts): readonly [string, string] {
  const { deliveries, cut, acknowledged, requests } = counts
  const { webhookIds, effects, lost, doubled, unexpected } = counts
  return [
    `${counts.kills} kills, ${deliveries} deliveries (${cut} cut off, ${unexpected.length} answered neither 200 nor 503), ${acknowledged} events answered`,
    `${requests} requests to the service, ${webhookIds} webhook-ids, ${effects} effects, ${lost.length} lost, ${doubled.length} doubled`,
  ]
}
