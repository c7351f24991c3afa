/**
 * An inbox in the test's own process, on a real store, for faults that need no process of their own.
 *
 * @module
 */

import pg from 'pg'
import { onTestFinished } from 'vitest'
import { createInbox } from '../../../src/inbox/inbox.ts'
import type { Inbox } from '../../../src/inbox/inbox.ts'
import type { Delivery } from '../../../src/model/delivery.ts'
import type { EventRecord } from '../../../src/model/outcome.ts'
import type { Destination } from '../../../src/outbox/destination.ts'
import type { RelayOptions } from '../../../src/outbox/options.ts'
import type { ReceiveOptions } from '../../../src/receive/options.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import type { HappeningName, Happenings } from '../../../src/telemetry/happenings.ts'
import type { WorkerOptions } from '../../../src/work/options.ts'
import type { ConnectionConfig } from '../postgres/start-postgres.ts'
import type { QueryTx } from '../store-under-test.ts'
import type { FaultDatabase } from './fault-database.ts'
import { createFaultSources } from './fault-sources.ts'
import { createProbedClients } from './probed-client.ts'
import type { Probe } from './probed-client.ts'
import { until } from './until.ts'

export interface FaultInboxOptions {
  /** Left out, the inbox only receives. */
  readonly worker?: WorkerOptions
  readonly receive?: ReceiveOptions
  readonly destinations?: readonly Destination[]
  /** Left out, the inbox sends nothing. */
  readonly relay?: RelayOptions
  /** Another way to the same PostgreSQL database, such as through a `WireProxy`. */
  readonly connection?: ConnectionConfig
  readonly poolMax?: number
  /** Sees every statement that goes to PostgreSQL. */
  readonly probe?: Probe
}

export interface FaultInbox {
  readonly inbox: Inbox<ReturnType<typeof createFaultSources>, QueryTx>
  /** Everything that happened so far. */
  readonly happened: readonly Happening[]
  /** The statements that went to PostgreSQL so far. */
  readonly statements: readonly string[]
  /** The pool, on PostgreSQL. */
  readonly pool: pg.Pool | undefined
  /** What a handler's transaction is on, for what no handler should do: other events may run on other clients. */
  clientOf(tx: Pick<QueryTx, 'query'>): Promise<pg.Client>
  count(name: HappeningName): number
  untilHappened<Name extends HappeningName>(name: Name, key?: string): Promise<Happenings[Name]>
  /** The one event of `partner` with this key. */
  getEvent(key: string): Promise<EventRecord>
}

export interface Happening {
  readonly name: HappeningName
  readonly about: Happenings[HappeningName]
}

/** Made for the length of the running test; `start` is left to it. */
export function createFaultInbox(
  database: FaultDatabase,
  options: FaultInboxOptions = {},
): FaultInbox {
  const statements: string[] = []
  const probe: Probe = (boundary) => {
    if (boundary.phase === 'before') statements.push(boundary.text)
    return options.probe?.(boundary)
  }
  const { store, pool, listClients } = createStore(database, options, probe)
  const inbox = createInbox({
    store,
    sources: createFaultSources(),
    worker: options.worker === undefined ? false : { pollMs: 50, ...options.worker },
    receive: { ...PATIENT, ...options.receive },
    destinations: options.destinations ?? [],
    relay: options.relay === undefined ? false : { pollMs: 50, ...options.relay },
    logger: SILENT,
  })
  const happened: Happening[] = []
  inbox.events.onAny((name, about) => happened.push({ name, about }))
  onTestFinished(async () => {
    await inbox.stop()
    await pool?.end()
  })
  const find = (name: HappeningName, key?: string) =>
    happened.find(
      (one) =>
        one.name === name && (key === undefined || ('key' in one.about && one.about.key === key)),
    )
  return {
    inbox,
    happened,
    statements,
    pool,
    clientOf: async (tx) => {
      const { rows } = await tx.query('select pg_backend_pid() as pid')
      const found = listClients().find((client) => processOf(client) === rows[0]?.['pid'])
      if (found === undefined) throw new Error('The transaction is on no client of this inbox')
      return found
    },
    count: (name) => happened.filter((one) => one.name === name).length,
    untilHappened: async <Name extends HappeningName>(name: Name, key?: string) => {
      await until(
        `${name} happened${key === undefined ? '' : ` to ${key}`}`,
        () => find(name, key) !== undefined,
        { everyMs: 5 },
      )
      return find(name, key)?.about as Happenings[Name]
    },
    getEvent: async (key) => {
      const [event] = await inbox.admin.listEventsByKey('partner', key)
      if (event === undefined) throw new Error(`There is no event ${key}`)
      return event
    },
  }
}

/** Receives, and insists that it was stored. */
export async function accept(
  { inbox }: Pick<FaultInbox, 'inbox'>,
  delivery: Delivery,
): Promise<string> {
  const { status, eventId } = await inbox.receive('partner', delivery)
  if (status !== 200 || eventId === undefined) throw new Error(`A delivery was answered ${status}`)
  return eventId
}

function createStore(
  database: FaultDatabase,
  { connection, poolMax = 12 }: FaultInboxOptions,
  probe: Probe,
): { store: Store<QueryTx>; pool?: pg.Pool; listClients: () => readonly pg.Client[] } {
  if (database.store.engine === 'sqlite') {
    const store = sqliteStore(database.store.file, {
      driver: 'libsql',
    }) as unknown as Store<QueryTx>
    return { store, listClients: () => [] }
  }
  const { Client, listClients } = createProbedClients(probe)
  const pool = new pg.Pool({ ...(connection ?? database.store.connection), max: poolMax, Client })
  pool.on('error', () => undefined)
  return { store: postgresStore({ pool }), pool, listClients }
}

/** The backend that serves a client. */
function processOf(client: pg.Client): number | undefined {
  return (client as unknown as { readonly processID?: number }).processID
}

/** No delivery is answered 503 because the machine is busy; a test of deadlines gives its own. */
const PATIENT = { answerTimeoutMs: 30_000 }

const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
