/**
 * Kills, cuts off and crowds out receivers, workers and the database at random while deliveries come in, then
 * counts what took effect.
 *
 *     npm run crash -- --minutes 10 --seed 42 --store postgres --faults kills,outages
 *
 * The seed decides what is sent and which faults come in which order; when a fault meets which
 * statement is up to the machine, so that a seed repeats the plan and not the run. Says what it counted for each
 * store, and exits with 1 and the first promise that was broken, if one was.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { countEffects } from './crash/count-effects.ts'
import type { Counts } from './crash/count-effects.ts'
import { sleep } from './crash/crash-run.ts'
import type { CrashRun, Fault } from './crash/crash-run.ts'
import { FAULT_FAMILIES, FAULT_FAMILY_NAMES } from './crash/fault-families.ts'
import type { FaultFamily } from './crash/fault-families.ts'
import { createFleetConfig } from './crash/fleet-config.ts'
import { reportRun } from './crash/report-run.ts'
import { sendUntilOver } from './crash/send-events.ts'
import { Fleet } from '../test/support/faults/fleet.ts'
import { addLedger } from '../test/support/faults/make-database.ts'
import type { Engine, MadeDatabase } from '../test/support/faults/make-database.ts'
import { Random } from '../test/support/faults/random.ts'
import { createPostgres } from '../test/support/postgres/postgres-database.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import { WireProxy } from '../test/support/postgres/wire-proxy.ts'
import { createSqlite } from '../test/support/sqlite-database.ts'

const QUIET_LIMIT_MS = 180_000
/** How often a fault with the weight 1 is in a deck. */
const CARDS = 2

interface Plan {
  readonly minutes: number
  readonly seed: number
  readonly engines: readonly Engine[]
  readonly families: readonly FaultFamily[]
}

async function main(): Promise<void> {
  const plan = readArguments()
  const { minutes, seed, engines, families } = plan
  console.log(
    `seed ${seed}, ${minutes} minutes on ${engines.join(' and ')}, with ${families.join(', ')}`,
  )
  for (const engine of engines) {
    const broken = await runOn(engine, plan)
    if (broken === undefined) continue
    console.error(`BROKEN on ${engine} with seed ${seed}: ${broken}`)
    process.exit(1)
  }
  process.exit(0)
}

function readArguments(): Plan {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      store: { type: 'string', default: 'both' },
      faults: { type: 'string', default: FAULT_FAMILY_NAMES.join(',') },
    },
  })
  const minutes = Number(values.minutes)
  const seed = Number(values.seed)
  const families = values.faults.split(',') as FaultFamily[]
  const isKnown = ['postgres', 'sqlite', 'both'].includes(values.store)
  const areKnown = families.every((family) => FAULT_FAMILY_NAMES.includes(family))
  if (!(minutes > 0) || !Number.isSafeInteger(seed) || !isKnown || !areKnown) {
    console.error(
      `Usage: crash [--minutes N] [--seed N] [--store postgres|sqlite|both] [--faults ${FAULT_FAMILY_NAMES.join(',')}]`,
    )
    process.exit(2)
  }
  const engines: readonly Engine[] =
    values.store === 'both' ? ['postgres', 'sqlite'] : [values.store as Engine]
  return { minutes, seed, engines, families }
}

/** Returns the first promise that was broken, in words. */
async function runOn(engine: Engine, plan: Plan): Promise<string | undefined> {
  const opened = await openRun(engine, plan.seed)
  const { run } = opened
  let counts: Counts | undefined
  try {
    await run.fleet.start()
    const senders = sendUntilOver(run, plan.seed)
    const until = performance.now() + (plan.minutes * 60_000) / plan.engines.length
    const broken = await disturb(run, plan.families, until)
    run.isOver = true
    await senders
    // Also when a promise is broken already: what still waits is not lost.
    const unsettled = await untilQuiet(run)
    counts = await countEffects(run)
    return broken ?? run.fleet.collapsed[0] ?? unsettled ?? counts.examples[0]
  } finally {
    run.isOver = true
    await run.fleet.close()
    reportRun(run, counts)
    await opened.close()
  }
}

async function openRun(
  engine: Engine,
  seed: number,
): Promise<{ run: CrashRun; close: () => Promise<void> }> {
  const server = engine === 'postgres' ? await startPostgres() : undefined
  const { database, drop }: MadeDatabase = await addLedger(
    server === undefined ? await createSqlite() : await createPostgres(server.config),
  )
  const { store } = database
  const proxy = store.engine === 'postgres' ? await WireProxy.start(store.connection) : undefined
  const config = createFleetConfig(
    proxy === undefined ? store : { engine: 'postgres', connection: proxy.config },
  )
  return {
    run: {
      database,
      postgres: server && proxy && { server, proxy },
      fleet: new Fleet(config, { receivers: 2, workers: 3 }),
      random: new Random(seed),
      sent: new Map(),
      acknowledged: new Map(),
      faults: new Map(),
      isOver: false,
    },
    close: async () => {
      await proxy?.close()
      await drop().catch(() => undefined)
      await server?.dispose()
    },
  }
}

/** A fault now and then until the time is over, and a look that nothing has happened twice. */
async function disturb(
  run: CrashRun,
  families: readonly FaultFamily[],
  until: number,
): Promise<string | undefined> {
  const faults = families.flatMap((family) => FAULT_FAMILIES[family](run))
  let deck: Fault[] = []
  while (performance.now() < until || hasProvedNothing(run, until)) {
    await sleep(run.random.between(50, 800))
    if (deck.length === 0) deck = shuffle(run.random, faults)
    const fault = deck.pop()
    if (fault !== undefined) run.faults.set(fault.name, (run.faults.get(fault.name) ?? 0) + 1)
    const broken = (await fault?.inject(run)) ?? run.fleet.collapsed[0] ?? (await findTwice(run))
    if (broken !== undefined) return broken
  }
  return undefined
}

/**
 * On a busy machine a short run is over before anything has happened. It goes on until there is
 * something to count, for as long as a run may be quiet at its end.
 */
function hasProvedNothing(run: CrashRun, until: number): boolean {
  const isCountable = run.acknowledged.size > 0 && run.faults.size > 0
  return !isCountable && performance.now() < until + QUIET_LIMIT_MS
}

/** Every fault at least once, and as often as it weighs: what is rare comes in a short run as well. */
function shuffle(random: Random, faults: readonly Fault[]): Fault[] {
  const cards = faults.flatMap((fault) =>
    Array.from({ length: Math.ceil(fault.weight * CARDS) }, () => ({ fault, at: random.next() })),
  )
  return cards.sort((a, b) => a.at - b.at).map(({ fault }) => fault)
}

/** Effects are at most one at any time, not only at the end. */
async function findTwice({ database }: CrashRun): Promise<string | undefined> {
  const [row] = await database
    .query(
      'select event_key, count(*) as found from effects group by event_key having count(*) > 1 limit 1',
    )
    .catch(() => [])
  return row && `${String(row['event_key'])} has taken effect ${String(row['found'])} times`
}

async function untilQuiet({ database }: CrashRun): Promise<string | undefined> {
  const giveUpAt = performance.now() + QUIET_LIMIT_MS
  for (;;) {
    const queued = await database.count('queue').catch(() => -1)
    if (queued === 0) return undefined
    if (performance.now() > giveUpAt) {
      const suspects = await database.count('queue', 'crashes > 0').catch(() => -1)
      return `${queued} events (${suspects} suspects) have no outcome ${QUIET_LIMIT_MS / 1_000} s after the last fault`
    }
    await sleep(100)
  }
}

await main()
