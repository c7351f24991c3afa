import type { StatsStore } from '../contract/stats.ts'
import type { Connections } from './connections.ts'
import type { Connection } from './connection.ts'
import { countDue } from './sql/count-due.ts'
import { countEventsIn, countReceived } from './sql/count-events-in.ts'
import { countMessages } from './sql/count-messages.ts'
import { countSettled } from './sql/count-settled.ts'
import { findUnfinished } from './sql/find-unfinished.ts'
import { listOpenTransactions } from './sql/list-open-transactions.ts'
import { listWorkers } from './sql/list-workers.ts'

/** The part of the store that counts. */
export function createStats(connections: Connections): StatsStore {
  /** By the indexes: a scan of a table in which the wanted rows come last would be a look at all of it. */
  const look = <T>(work: (connection: Connection) => Promise<T>): Promise<T> =>
    connections.transact(async (connection) => {
      await connection.query(BY_INDEXES)
      return work(connection)
    })
  return {
    now: () => connections.use(readClock),
    countPlace: (place, most) => look((connection) => countEventsIn(connection, place, most)),
    countDue: (most) => look((connection) => countDue(connection, most)),
    countReceived: (range, source, most) =>
      look((connection) => countReceived(connection, range, source, most)),
    countSettled: (request) => look((connection) => countSettled(connection, request)),
    countMessages: (most) => look((connection) => countMessages(connection, most)),
    listWorkers: () => look(listWorkers),
    listOpenTransactions: (most) =>
      connections.use((connection) => listOpenTransactions(connection, most)),
    findUnfinished: (query) => look((connection) => findUnfinished(connection, query)),
  }
}

const BY_INDEXES = `
  select pg_catalog.set_config('jit', 'off', true), pg_catalog.set_config('enable_seqscan', 'off', true)`

const READ_CLOCK = `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`

async function readClock(connection: Connection): Promise<Date> {
  const { rows } = await connection.query<'now'>(READ_CLOCK)
  return new Date(Number(rows[0]?.now))
}
