/**
 * What an operator's questions cost on a large inbox. Filled by the database itself, measured through `inbox.admin`'s
 * own functions, on a machine that should do nothing else.
 *
 *     npm run measure:search -- --events 1000000 --store postgres
 *
 * Of the events 1 % are dead, 0.5 % quarantined, 0.5 % ready and the others done. Each is stored 60 ms after the one
 * before, so that a million are 17 hours. Prints the median of three for each question, and how much was looked at.
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
    },
  })
  const events = Number(values.events)
  const filled = values.store === 'sqlite' ? await openSqlite() : await openPostgres()
  try {
    const start = performance.now()
    await fill(filled, events)
    console.log(`${values.store}: ${events} events filled in ${seconds(start)} s`)
    await measureAll(filled.store)
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

async function measureAll(store: Store<QueryTx>): Promise<void> {
  const ask = <Result>(question: (store: Store<unknown>) => Promise<Result>) => question(store)
  const finder = createEventFinder(ask)
  const bulk = createBulkOperator(ask, new BulkRunner(), () => undefined)
  const [newest] = (await finder.list({ limit: 1 })).events
  for (const [name, question] of Object.entries(questions(finder, newest?.id ?? ''))) {
    const times: number[] = []
    let lookedAt: number | undefined
    for (let n = 0; n < 3; n += 1) {
      const start = performance.now()
      const answer = await question()
      times.push(performance.now() - start)
      lookedAt = (answer as { lookedAt?: number } | undefined)?.lookedAt
    }
    report(name, times, lookedAt)
  }
  const start = performance.now()
  const { count } = await bulk.plan({ action: 'retry', filter: {} })
  report(`bulk.plan of ${count}`, [performance.now() - start], undefined)
}

function questions(
  finder: EventFinder,
  newestId: string,
): Readonly<Record<string, () => Promise<unknown>>> {
  const hour = 3_600_000
  return {
    'list, newest 100': () => finder.list(),
    'list, dead': () => finder.list({ state: 'dead' }),
    'list, parked and dead': () => finder.failures(),
    'list, ready': () => finder.list({ state: 'ready' }),
    'list, a type that half of them have': () => finder.list({ type: 'invoice.paid' }),
    'list, a source with one old event': () => finder.list({ source: 'rare' }),
    'list, a time 8 hours ago': () => finder.list({ before: new Date(Date.now() - 8 * hour) }),
    'list, text among the dead': () => finder.list({ state: 'dead', text: 'no such text' }),
    'list, text among all': () => finder.list({ text: 'no such text' }),
    'list, a value in payloads': () =>
      finder.list({ where: { path: '$.data.customer', equals: 'cus_2' } }),
    'list, a key': () => finder.list({ key: 'rare' }),
    'find, an id': () => finder.find(newestId),
    'show, an event': () => finder.show(newestId),
    'groups, dead': () => finder.groups(),
    'groups, failed': () => finder.groups({ state: 'failed' }),
    'stats, last hour': () => finder.stats(),
    'stats, last day of a source': () => finder.stats({ source: 'stripe', over: 'day' }),
  }
}

function report(name: string, times: readonly number[], lookedAt: number | undefined): void {
  const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  const looked = lookedAt === undefined ? '' : `, looked at ${lookedAt}`
  console.log(`${name.padEnd(40)} ${median.toFixed(0).padStart(6)} ms${looked}`)
}

function seconds(start: number): string {
  return ((performance.now() - start) / 1_000).toFixed(0)
}

await main()
