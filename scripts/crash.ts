/**
 * Kills receivers, workers and the database at random while deliveries come in, then counts.
 *
 *     npm run crash -- --minutes 10 --seed 42 --store postgres
 *
 * The seed decides what is sent and which faults come in which order; when a fault meets which
 * statement is up to the machine, so that a seed repeats the plan and not the run. Exits with 1 and the
 * first promise that was broken.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { fromPartner } from '../test/support/faults/fault-sources.ts'
import type { ScriptedEvent } from '../test/support/faults/fault-sources.ts'
import { Fleet } from '../test/support/faults/fleet.ts'
import { createPostgres, createSqlite } from '../test/support/faults/make-database.ts'
import type { Engine, FaultDatabase } from '../test/support/faults/make-database.ts'
import { post } from '../test/support/faults/post.ts'
import { Random } from '../test/support/faults/random.ts'
import { startAgain } from '../test/support/faults/start-again.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import type { PostgresServer } from '../test/support/postgres/start-postgres.ts'

const SENDERS = 6
const QUIET_LIMIT_MS = 120_000

interface Run {
  readonly database: FaultDatabase
  readonly server: PostgresServer | undefined
  readonly fleet: Fleet
  readonly random: Random
  /** What was answered 200, and so must be there once. */
  readonly acknowledged: Map<string, ScriptedEvent>
  readonly faults: Map<string, number>
  isOver: boolean
}

async function main(): Promise<void> {
  const { minutes, seed, engines } = readArguments()
  console.log(`seed ${seed}, ${minutes} minutes on ${engines.join(' and ')}`)
  for (const engine of engines) {
    const broken = await runOn(engine, { seed, durationMs: (minutes * 60_000) / engines.length })
    if (broken === undefined) continue
    console.error(`BROKEN on ${engine} with seed ${seed}: ${broken}`)
    process.exit(1)
  }
  process.exit(0)
}

function readArguments(): { minutes: number; seed: number; engines: readonly Engine[] } {
  const { values } = parseArgs({
    options: { minutes: { type: 'string' }, seed: { type: 'string' }, store: { type: 'string' } },
  })
  const minutes = Number(values.minutes ?? '10')
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
  const store = values.store ?? 'both'
  const isKnown = ['postgres', 'sqlite', 'both'].includes(store)
  if (!(minutes > 0) || !Number.isSafeInteger(seed) || !isKnown) {
    console.error('Usage: crash [--minutes N] [--seed N] [--store postgres|sqlite|both]')
    process.exit(2)
  }
  return { minutes, seed, engines: store === 'both' ? ['postgres', 'sqlite'] : [store as Engine] }
}

/** Returns the first promise that was broken, in words. */
async function runOn(
  engine: Engine,
  { seed, durationMs }: { seed: number; durationMs: number },
): Promise<string | undefined> {
  const server = engine === 'postgres' ? await startPostgres() : undefined
  const { database, drop } =
    server === undefined ? await createSqlite() : await createPostgres(server.config)
  const worker = {
    concurrency: 3,
    deadAfterMs: 1_000,
    crashesMax: 100,
    pollMs: 100,
    stopGraceMs: 500,
  }
  const handler = { retry: { firstMs: 10, factor: 1, attemptsMax: 1_000 }, timeoutMs: 400 }
  const fleet = new Fleet(
    { store: database.store, worker, handler, isQuiet: true },
    { receivers: 2, workers: 3 },
  )
  const run: Run = {
    database,
    server,
    fleet,
    random: new Random(seed),
    acknowledged: new Map(),
    faults: new Map(),
    isOver: false,
  }
  try {
    await fleet.start()
    const senders = Array.from({ length: SENDERS }, (_, i) =>
      send(run, new Random(seed + i + 1), i),
    )
    const broken = await disturb(run, performance.now() + durationMs)
    run.isOver = true
    await Promise.all(senders)
    return broken ?? (await untilQuiet(run)) ?? (await check(run))
  } finally {
    run.isOver = true
    await fleet.close()
    report(engine, run)
    await drop().catch(() => undefined)
    await server?.dispose()
  }
}

/** One sender: new events, now and then an old one again, each until it is answered 200. */
async function send(run: Run, random: Random, sender: number): Promise<void> {
  const sent: ScriptedEvent[] = []
  for (let i = 0; !run.isOver; i += 1) {
    const event =
      sent.length > 0 && random.next() < 0.2
        ? random.pick(sent)
        : createEvent(random, `evt_${sender}_${i}`)
    while (!run.isOver) {
      if ((await sendOnce(run, random, event)) === 200) {
        run.acknowledged.set(event.key, event)
        sent.push(event)
        break
      }
      await sleep(20)
    }
    await sleep(random.between(0, 20))
  }
}

async function sendOnce(run: Run, random: Random, event: ScriptedEvent): Promise<number> {
  const url = run.fleet.findUrl(random)
  if (url === undefined) return 0
  try {
    return (await post(url, fromPartner(event))).status
  } catch {
    // The receiver is gone, and with it the answer.
    return 0
  }
}

function createEvent(random: Random, key: string): ScriptedEvent {
  const chance = random.next()
  if (chance < 0.4) return { key }
  if (chance < 0.75) return { key, steps: [['note', 'done']] }
  if (chance < 0.85)
    return {
      key,
      steps: [
        ['write', 'done'],
        ['sleep', random.between(1, 60)],
      ],
    }
  if (chance < 0.99)
    return {
      key,
      steps: [['write', 'done']],
      first: [
        ['write', 'not kept'],
        ['throw', 'the first time'],
      ],
    }
  return {
    key,
    steps: [
      ['sleep', random.between(1, 30)],
      ['write', 'done'],
    ],
    first: [
      ['write', 'not kept'],
      ['sleep', 2_000],
    ],
  }
}

/** A fault now and then until the time is over, and a look that nothing has happened twice. */
async function disturb(run: Run, until: number): Promise<string | undefined> {
  while (performance.now() < until) {
    await sleep(run.random.between(50, 800))
    const [name, fault] = pickFault(run)
    run.faults.set(name, (run.faults.get(name) ?? 0) + 1)
    await fault()
    const twice = await findTwice(run)
    if (twice !== undefined) return twice
  }
  return undefined
}

function pickFault(run: Run): readonly [string, () => Promise<void> | void] {
  const { fleet, random, server } = run
  const faults: (readonly [string, number, () => Promise<void> | void])[] = [
    ['kill -9 of a receiver', 3, () => fleet.find('receiver', random)?.signal('SIGKILL')],
    ['kill -9 of a worker', 4, () => fleet.find('worker', random)?.signal('SIGKILL')],
    ['kill -9 at a statement of a receiver', 4, () => arm(run, 'receiver')],
    ['kill -9 at a statement of a worker', 6, () => arm(run, 'worker')],
    ['SIGTERM to a worker', 1, () => fleet.find('worker', random)?.signal('SIGTERM')],
    ['SIGTERM to a receiver', 1, () => fleet.find('receiver', random)?.signal('SIGTERM')],
    ['a frozen worker', 1, () => freeze(run)],
  ]
  if (server !== undefined) {
    faults.push(
      ['a terminated connection', 5, () => ask(run, TERMINATE_ONE)],
      ['a cancelled statement', 2, () => ask(run, CANCEL_ONE)],
      ['a server stopped at once', 0.5, () => restart(server, () => server.stop('immediate'))],
      ['a server killed with all it has', 0.5, () => restart(server, () => server.killAll())],
    )
  }
  let left = random.next() * faults.reduce((sum, [, weight]) => sum + weight, 0)
  const chosen = faults.find(([, weight]) => (left -= weight) < 0) ?? faults[0]!
  return [chosen[0], chosen[2]]
}

const OTHERS = `from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
 order by random() limit 1`
const TERMINATE_ONE = `select pg_terminate_backend(pid) ${OTHERS}`
const CANCEL_ONE = `select pg_cancel_backend(pid) ${OTHERS}`

/** A server that is away has nobody to do it to. */
async function ask({ database }: Run, sql: string): Promise<void> {
  await database.query(sql).catch(() => undefined)
}

async function arm({ fleet, random }: Run, kind: 'receiver' | 'worker'): Promise<void> {
  const at = random.between(1, 60)
  await fleet
    .find(kind, random)
    ?.arm({ at, then: 'kill' })
    .catch(() => undefined)
}

async function freeze({ fleet, random, database }: Run): Promise<void> {
  const worker = fleet.find('worker', random)
  worker?.signal('SIGSTOP')
  // A frozen process that holds SQLite's one lock holds everybody: nothing else can be seen meanwhile.
  await sleep(database.engine === 'sqlite' ? 300 : random.between(500, 3_500))
  worker?.signal('SIGCONT')
}

async function restart(server: PostgresServer, end: () => Promise<void>): Promise<void> {
  await end()
  await startAgain(server)
}

/** Effects are at most one at any time, not only at the end. */
async function findTwice({ database }: Run): Promise<string | undefined> {
  const rows = await database
    .query(
      'select event_key, count(*) as found from effects group by event_key having count(*) > 1 limit 1',
    )
    .catch(() => [])
  const [row] = rows
  return row && `${String(row['event_key'])} has taken effect ${String(row['found'])} times`
}

async function untilQuiet({ database }: Run): Promise<string | undefined> {
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

async function check({ database, acknowledged }: Run): Promise<string | undefined> {
  const prefix = database.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  const keyText =
    database.engine === 'postgres'
      ? `convert_from(e.event_key, 'UTF8')`
      : 'cast(e.event_key as text)'
  const events = await database.query(
    `select ${keyText} as key, o.state from ${prefix}events e left join ${prefix}outcomes o on o.event_id = e.id`,
  )
  const stored = new Map<string, number>()
  for (const { key, state } of events) {
    stored.set(String(key), (stored.get(String(key)) ?? 0) + 1)
    if (state !== 'done') return `${String(key)} is ${String(state)}, where every event can be done`
  }
  for (const key of acknowledged.keys()) {
    if (stored.get(key) !== 1)
      return `${key} was acknowledged and is stored ${stored.get(key) ?? 0} times`
  }
  const [wrong] = await database.listWrongEffects([...stored.keys()])
  return wrong === undefined ? undefined : `done, with effects ${wrong}`
}

function report(engine: Engine, { acknowledged, faults, fleet }: Run): void {
  console.log(
    `${engine}: ${acknowledged.size} events acknowledged, ${fleet.replaced} processes replaced`,
  )
  for (const [name, count] of faults) console.log(`  ${String(count).padStart(5)} × ${name}`)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

await main()
