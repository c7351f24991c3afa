/**
 * How many bytes of disk an event takes: received, run and done, on an empty database.
 *
 *     npm run measure:disk -- --events 20000 --bytes 1024
 *
 * With `--keep` the result is kept in `bench/results`. Prints for each store what its file or its tables have grown by, for each event, by table. The tables of PostgreSQL
 * are vacuumed first; the file of SQLite has its log written back into it.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createInbox } from '../src/index.ts'
import type { Store } from '../src/index.ts'
import { stripe } from '../src/providers/index.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { sign } from '../src/testing/index.ts'
import { createPostgres } from '../test/support/postgres/postgres-database.ts'
import { startPostgres } from '../test/support/postgres/start-postgres.ts'
import { createSqlite } from '../test/support/sqlite-database.ts'
import type { Check } from '../bench/harness/measurement.ts'
import { keepMeasured } from './keep-measured.ts'

const SECRET = 'whsec_only_for_a_measurement'
const AT_ONCE = 64

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '20000' },
    bytes: { type: 'string', default: '1024' },
    keep: { type: 'boolean', default: false },
  },
})
const events = Number(values.events)
const bytes = Number(values.bytes)
const measured: Check[] = []
await measurePostgres()
await measureSqlite()
if (values.keep)
  keepMeasured({
    id: 'disk',
    title: `How many bytes of disk each of ${events} events with bodies of ${bytes} bytes takes`,
    checks: measured.map(({ name, isOk, detail }) => ({ name, isOk, detail })),
    measured,
  })

async function measurePostgres(): Promise<void> {
  const server = await startPostgres()
  const database = await createPostgres(server.config)
  const sizes = async (): Promise<Map<string, number>> => {
    const rows = await database.query(
      `select regexp_replace(relname, '_p?\\d{6,}.*$', '') as name,
              sum(pg_total_relation_size(c.oid))::bigint as size
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'hookonce' and c.relkind = 'r'
        group by 1`,
    )
    return new Map(rows.map(({ name, size }) => [String(name), Number(size)]))
  }
  const store = postgresStore({ pool: database.newPool() })
  await store.open()
  const before = await sizes()
  await fill(store)
  await database.query('vacuum')
  const after = await sizes()
  print(
    'PostgreSQL',
    [...after].map(([name, size]) => [name, size - (before.get(name) ?? 0)]),
  )
  await database.close()
  await server.dispose()
}

async function measureSqlite(): Promise<void> {
  const database = await createSqlite()
  const store = sqliteStore(database.file)
  await store.open()
  await fill(store)
  await database.query('pragma wal_checkpoint(truncate)')
  print('SQLite', [['the file', statSync(database.file).size]])
  await database.close()
}

/** Receives and runs them. The store is closed afterwards. */
async function fill<Tx>(store: Store<Tx>): Promise<void> {
  const inbox = createInbox({
    store,
    sources: { stripe: stripe({ secrets: [SECRET] }) },
  })
  let done = 0
  const ended = new Promise<void>((resolve) =>
    inbox.events.on('event.done', () => {
      done += 1
      if (done === events) resolve()
    }),
  )
  inbox.on('stripe', 'invoice.paid', () => undefined)
  await inbox.start()
  let next = 0
  const send = async (): Promise<void> => {
    while (next < events) {
      next += 1
      await inbox.receive('stripe', aDelivery(next))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  await ended
  await inbox.stop()
}

/** Of so many bytes, in which nothing repeats. */
function aDelivery(nth: number): ReturnType<typeof sign> {
  const key = `evt_${String(nth).padStart(24, '0')}`
  const write = (note: string): string =>
    JSON.stringify({
      id: key,
      type: 'invoice.paid',
      created: 1_790_000_000,
      livemode: true,
      data: { object: { note } },
    })
  const room = Math.max(0, bytes - write('').length)
  const note = randomBytes(Math.ceil(room / 2))
    .toString('hex')
    .slice(0, room)
  return sign('stripe', { key, type: 'invoice.paid', body: write(note) }, { secret: SECRET })
}

function print(name: string, tables: readonly (readonly [string, number])[]): void {
  const total = tables.reduce((sum, [, size]) => sum + size, 0)
  console.log(
    `${name}: ${events} events with bodies of ${bytes} bytes take ${perEvent(total)} each`,
  )
  for (const [table, size] of tables.toSorted(([, one], [, other]) => other - one))
    if (size >= events) console.log(`  ${perEvent(size).padStart(14)}  ${table}`)
  const byTable = Object.fromEntries(tables)
  measured.push({ name, isOk: true, detail: `${perEvent(total)} each`, ...{ byTable } })
}

function perEvent(size: number): string {
  return `${Math.round(size / events).toLocaleString('en')} bytes`
}
