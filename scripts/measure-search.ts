/**
 * What an operator's questions cost on a large inbox. Filled by the database itself, measured through `inbox.admin`'s
 * own functions, on a machine that should do nothing else.
 *
 *     npm run measure:search -- --events 1000000 --store postgres
 *
 * Of the events 1 % are dead, 0.5 % quarantined, 0.5 % ready and the others done. Each is stored 60 ms after the one
 * before, so that a million are 17 hours. Prints the median of three for each question, and how much was looked at, and
 * ends with 1 where a question costs more than its bound in `docs/finding-events.md`. A bound is a multiple of what a
 * look at 10,000 events costs in the same run: that takes the machine out of it, and leaves the growth. With `--keep`
 * the result is kept in `bench/results`.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { createBulkOperator } from '../src/admin/bulk-operator.ts'
import { BulkRunner } from '../src/admin/bulk-runner.ts'
import { createEventFinder } from '../src/admin/event-finder.ts'
import type { EventFinder } from '../src/admin/event-finder.ts'
import type { Store } from '../src/store/contract/store.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { anEventDraft } from '../test/support/builders.ts'
import { copyEvent } from '../test/support/copy-event.ts'
import { createPostgres } from '../test/support/postgres/postgres-database.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import { createSqlite } from '../test/support/sqlite-database.ts'
import { dead, done, recordOne, runOne } from '../test/support/store-steps.ts'
import type { DatabaseUnderTest, QueryTx } from '../test/support/store-under-test.ts'
import { keepMeasured } from './keep-measured.ts'

interface Filled {
  readonly store: Store<QueryTx>
  readonly database: Pick<DatabaseUnderTest, 'query'>
  close(): Promise<void>
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '1000000' },
      store: { type: 'string', default: 'postgres' },
      keep: { type: 'boolean', default: false },
    },
  })
  const events = Number(values.events)
  const filled = values.store === 'sqlite' ? await openSqlite() : await openPostgres()
  try {
    const start = performance.now()
    await fill(filled, events)
    console.log(`${values.store}: ${events} events filled in ${seconds(start)} s`)
    const { measured, excesses } = await measureAll(filled.store)
    for (const excess of excesses) console.error(excess)
    if (excesses.length > 0) process.exitCode = 1
    if (values.keep)
      keepMeasured({
        id: `search-${values.store}`,
        title: `What an operator asks of ${events} events, on ${values.store}`,
        checks: measured.map(({ name, ms, lookedAt }) => ({
          name,
          isOk: !excesses.some((excess) => excess.startsWith(`${name}:`)),
          detail: `${ms.toFixed(0)} ms${lookedAt === undefined ? '' : `, looked at ${lookedAt}`}`,
        })),
        measured,
      })
  } finally {
    await filled.close()
  }
}

async function openPostgres(): Promise<Filled> {
  const server = await startPostgres()
  const database = await createPostgres(server.config)
  const store = postgresStore({ pool: database.newPool() })
  await store.open()
  const close = async () => {
    await store.close()
    await database.close()
    await server.dispose()
  }
  return { store, database, close }
}

async function openSqlite(): Promise<Filled> {
  const database = await createSqlite({})
  const store = sqliteStore(database.file, { driver: 'libsql' }) as unknown as Store<QueryTx>
  await store.open()
  const close = async () => {
    await store.close()
    await database.close()
  }
  return { store, database, close }
}

async function fill({ store, database }: Filled, events: number): Promise<void> {
  const stepMs = 60
  const startMs = Date.now() - events * stepMs
  const body = `{"data":{"customer":"cus_1","pad":"${'x'.repeat(400)}"}}`
  let from = 1
  const copy = async (eventId: string, share: number) => {
    const count = Math.round(events * share)
    await copyEvent(database, {
      engine: store.engine,
      eventId,
      count,
      from,
      times: { startMs, stepMs },
    })
    from += count
  }
  await recordOne(store, anEventDraft({ key: 'rare', source: 'rare', body }))
  await recordOne(store, anEventDraft({ key: 'done', body }))
  await copy(await runOne(store, done), 0.49)
  await recordOne(store, anEventDraft({ key: 'dead', body }))
  await copy(await runOne(store, dead), 0.01)
  const { eventId: odd } = await recordOne(store, anEventDraft({ key: undefined, body }))
  await copy(odd, 0.005)
  const { eventId: ready } = await recordOne(store, anEventDraft({ key: 'ready', body }))
  await copy(ready, 0.005)
  await recordOne(store, anEventDraft({ key: 'done too', type: 'b', body }))
  await copy(await runOne(store, done, { of: [['stripe', 'b']] }), 0.49)
  await database.query('analyze')
}

/** How often the cost of a look at 10,000 events a question may cost, by its kind: the table of `docs/finding-events.md`. */
const BOUNDS = { one: 1, few: 1, many: 5, payloads: 20, groups: 10, stats: 20, plan: 20 } as const
/** No page looks at more. */
const LOOKED_MAX = 10_000
/** Below this a ratio is that of two noises. */
const NOISE_MS = 50

type Kind = keyof typeof BOUNDS

interface Question {
  readonly name: string
  readonly kind: Kind
  readonly ask: () => Promise<unknown>
}

interface Measured {
  readonly name: string
  readonly kind: Kind
  readonly ms: number
  readonly lookedAt: number | undefined
}

/** What costs more than its bound. */
async function measureAll(
  store: Store<QueryTx>,
): Promise<{ readonly measured: readonly Measured[]; readonly excesses: readonly string[] }> {
  const ask = <Result>(question: (store: Store<unknown>) => Promise<Result>) => question(store)
  const finder = createEventFinder(ask)
  const bulk = createBulkOperator(ask, new BulkRunner(), () => undefined)
  const [newest] = (await finder.list({ limit: 1 })).events
  const measured: Measured[] = []
  for (const question of listQuestions(finder, newest?.id ?? '')) {
    const found = await measure(question)
    report(found)
    measured.push(found)
  }
  const start = performance.now()
  const { count } = await bulk.plan({ action: 'retry', filter: {} })
  const ms = performance.now() - start
  const planned = { name: `bulk.plan of ${count}`, kind: 'plan', ms, lookedAt: undefined } as const
  report(planned)
  const all = [...measured, planned]
  return { measured: all, excesses: findExcesses(all) }
}

async function measure({ name, kind, ask }: Question): Promise<Measured> {
  const times: number[] = []
  let lookedAt: number | undefined
  for (let n = 0; n < 3; n += 1) {
    const start = performance.now()
    const answer = await ask()
    times.push(performance.now() - start)
    lookedAt = (answer as { lookedAt?: number } | undefined)?.lookedAt
  }
  const ms = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  return { name, kind, ms, lookedAt }
}

function findExcesses(measured: readonly Measured[]): readonly string[] {
  const look = measured.find(({ name }) => name === YARDSTICK)?.ms ?? 0
  console.log(`\nA look at 10,000 events costs ${look.toFixed(0)} ms.`)
  return measured.flatMap(({ name, kind, ms, lookedAt = 0 }) => {
    const times = BOUNDS[kind]
    const boundMs = Math.max(look * times, NOISE_MS)
    return [
      ...(ms > boundMs ? [`${name}: ${ms.toFixed(0)} ms, more than ${times} looks`] : []),
      ...(lookedAt > LOOKED_MAX ? [`${name}: looked at ${lookedAt}`] : []),
    ]
  })
}

const YARDSTICK = 'list, a source with one old event'

function listQuestions(finder: EventFinder, newestId: string): readonly Question[] {
  const before = new Date(Date.now() - 8 * 3_600_000)
  const where = { path: '$.data.customer', equals: 'cus_2' }
  const question = (kind: Kind, name: string, ask: () => Promise<unknown>) => ({ name, kind, ask })
  return [
    question('few', 'list, newest 100', () => finder.list()),
    question('few', 'list, dead', () => finder.list({ state: 'dead' })),
    question('few', 'list, parked and dead', () => finder.failures()),
    question('few', 'list, ready', () => finder.list({ state: 'ready' })),
    question('many', 'list, a type that half of them have', () =>
      finder.list({ type: 'invoice.paid' }),
    ),
    question('many', YARDSTICK, () => finder.list({ source: 'rare' })),
    question('few', 'list, a time 8 hours ago', () => finder.list({ before })),
    question('many', 'list, text among the dead', () =>
      finder.list({ state: 'dead', text: 'no such text' }),
    ),
    question('many', 'list, text among all', () => finder.list({ text: 'no such text' })),
    question('payloads', 'list, a value in payloads', () => finder.list({ where })),
    question('one', 'list, a key', () => finder.list({ key: 'rare' })),
    question('one', 'find, an id', () => finder.find(newestId)),
    question('one', 'show, an event', () => finder.show(newestId)),
    question('groups', 'groups, dead', () => finder.groups()),
    question('groups', 'groups, failed', () => finder.groups({ state: 'failed' })),
    question('stats', 'stats, last hour', () => finder.stats()),
    question('stats', 'stats, last day of a source', () =>
      finder.stats({ source: 'stripe', over: 'day' }),
    ),
  ]
}

function report({ name, ms, lookedAt }: Measured): void {
  const looked = lookedAt === undefined ? '' : `, looked at ${lookedAt}`
  console.log(`${name.padEnd(40)} ${ms.toFixed(0).padStart(6)} ms${looked}`)
}

function seconds(start: number): string {
  return ((performance.now() - start) / 1_000).toFixed(0)
}

await main()
