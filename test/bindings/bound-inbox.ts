/**
 * An inbox whose handlers get a library's object as `tx`, on a fresh database of either engine, for the length of the
 * running test.
 *
 * @module
 */

import { onTestFinished } from 'vitest'
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
  worker?: WorkerOptions,
): Promise<BoundInbox<Tx, PostgresTx>> {
  return openPostgresFor(() => tx, worker)
}

/** For a binding that has to know its database. */
export async function openPostgresFor<Tx>(
  makeTx: (config: ConnectionConfig) => TxBinding<PostgresTx, Tx>,
  worker: WorkerOptions = {},
): Promise<BoundInbox<Tx, PostgresTx> & { readonly config: ConnectionConfig }> {
  const config = await createPostgresDatabase()
  const beside = newPool({ ...config, max: 2 })
  const query = async (sql: string, params: readonly unknown[] = []) =>
    (await beside.query<Record<string, unknown>>(sql, [...params])).rows
  const store = postgresStore({ pool: newPool({ ...config, max: 10 }), tx: makeTx(config) })
  return { ...(await open(store, query, worker)), config }
}

export async function openBoundSqlite<Tx>(
  tx: TxBinding<SqliteTx, Tx>,
  worker: WorkerOptions = {},
): Promise<BoundInbox<Tx, SqliteTx>> {
  const database = await createSqlite({ driver: DEFAULT_DRIVER })
  onTestFinished(() => database.close())
  const store = sqliteStore(database.file, { driver: DEFAULT_DRIVER, tx })
  return open(store, (sql, params) => database.query(sql, params), worker)
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

/** The code of our error, also where a library has wrapped it. */
export function codeBehind(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause) return cause.code
  }
  return undefined
}
