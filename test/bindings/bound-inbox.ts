/**
 * An inbox whose handlers get a library's object as `tx`, on a fresh database of either engine, for the length of the
 * running test.
 *
 * @module
 */

import { expect, onTestFinished } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import type { Source } from '../../src/model/source.ts'
import { destination } from '../../src/outbox/destination.ts'
import { hmac } from '../../src/providers/hmac.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import type { HappeningName, Happenings } from '../../src/telemetry/happenings.ts'
import type { WorkerOptions } from '../../src/work/options.ts'
import { sign } from '../../src/testing/index.ts'
import { PING_OPTIONS } from '../support/inbox-under-test.ts'
import { createPostgresDatabase, newPool } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { createSqlite } from '../support/sqlite-database.ts'
import { DEFAULT_DRIVER } from '../support/sqlite-under-test.ts'

/** A table without a unique constraint, so that an effect that happens twice is two rows. */
const EFFECTS = 'create table effects (event_key text, note text)'

export interface BoundInbox<Tx, Sql> {
  readonly inbox: Inbox<{ pings: Source }, Tx, Sql>
  /** Of the database, where it is PostgreSQL. */
  readonly config?: ConnectionConfig
  /** The database, where it is SQLite. */
  readonly file?: string
  /** A signed delivery. */
  deliver(key: string): Promise<unknown>
  /** Resolves when so many events have come to this. Ask before the first can. */
  untilAll<Name extends HappeningName>(name: Name, count: number): Promise<Happenings[Name][]>
  /** What is committed, on a connection of its own. */
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>
  /** The notes that are committed, in alphabetical order. */
  notes(): Promise<unknown[]>
}

export function openBoundPostgres<Tx>(
  tx: TxBinding<PostgresTx, Tx>,
  worker: WorkerOptions = {},
): Promise<BoundInbox<Tx, PostgresTx>> {
  return openBoundTo(async () => tx, worker)
}

/** With a binding that is made for the database, of a library that has connections of its own. */
export async function openBoundTo<Tx>(
  bind: (config: ConnectionConfig) => Promise<TxBinding<PostgresTx, Tx>>,
  worker: WorkerOptions = {},
): Promise<BoundInbox<Tx, PostgresTx>> {
  const config = await createPostgresDatabase()
  const tx = await bind(config)
  const beside = newPool({ ...config, max: 2 })
  const query = async (sql: string, params: readonly unknown[] = []) =>
    (await beside.query<Record<string, unknown>>(sql, [...params])).rows
  const store = postgresStore({ pool: newPool({ ...config, max: 10 }), tx })
  return { ...(await open(store, query, worker)), config }
}

export async function openBoundSqlite<Tx>(
  tx: TxBinding<SqliteTx, Tx>,
  worker: WorkerOptions = {},
): Promise<BoundInbox<Tx, SqliteTx>> {
  return openBoundToFile(async () => tx, worker)
}

/** With a binding that is made for the file, of a library that has connections of its own. */
export async function openBoundToFile<Tx>(
  bind: (file: string) => Promise<TxBinding<SqliteTx, Tx>>,
  worker: WorkerOptions = {},
): Promise<BoundInbox<Tx, SqliteTx>> {
  const database = await createSqlite({ driver: DEFAULT_DRIVER })
  onTestFinished(() => database.close())
  const { file } = database
  const store = sqliteStore(file, { driver: DEFAULT_DRIVER, tx: await bind(file) })
  return { ...(await open(store, (sql, params) => database.query(sql, params), worker)), file }
}

async function open<Tx, Sql>(
  store: Store<Sql, Tx>,
  query: BoundInbox<Tx, Sql>['query'],
  worker: WorkerOptions,
): Promise<BoundInbox<Tx, Sql>> {
  const silent = () => undefined
  const inbox = createInbox({
    store,
    sources: { pings: hmac({ ...PING_OPTIONS, sameBytes: 'run' }) },
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    receive: { answerTimeoutMs: 30_000 },
    destinations: [destination('out', silent)],
    relay: { pollMs: 50 },
    worker: { pollMs: 50, stopGraceMs: 2_000, concurrency: 2, ...worker },
  })
  onTestFinished(() => inbox.stop())
  await query(EFFECTS)
  return {
    inbox,
    query,
    deliver: (key) =>
      inbox.receive('pings', sign('hmac', { body: key, headers: { 'x-id': key } }, PING_OPTIONS)),
    untilAll: (name, count) =>
      new Promise((resolve) => {
        const seen: Happenings[typeof name][] = []
        const stop = inbox.events.on(name, (happening) => {
          seen.push(happening)
          if (seen.length < count) return
          stop()
          resolve(seen)
        })
      }),
    notes: async () =>
      (await query('select note from effects order by note')).map(({ note }) => note),
  }
}

/** Runs `work` as a handler, and gives what it returned. */
export async function inHandler<Tx, Sql, Result>(
  { inbox, deliver, untilAll }: BoundInbox<Tx, Sql>,
  work: (tx: Tx, sql: Sql) => Promise<Result>,
): Promise<Result> {
  let result: Result | undefined
  inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async (_event, { tx, sql }) => {
    result = await work(tx, sql)
  })
  const ended = Promise.race([untilAll('event.done', 1), untilAll('event.dead', 1)])
  await inbox.start()
  await deliver('evt_1')
  expect((await ended)[0]).not.toHaveProperty('error')
  return result as Result
}

/** The code of our error, also where a library has wrapped it. */
export function codeBehind(error: unknown): unknown {
  // Sequelize says `parent` where others say `cause`.
  type Wrapping = Error & { readonly parent?: unknown }
  for (let at = error; at instanceof Error; at = at.cause ?? (at as Wrapping).parent) {
    if ('code' in at) return at.code
  }
  return undefined
}
