import type { StatsStore } from '../contract/stats.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { countDue } from './sql/count-due.ts'
import { countEventsIn, countReceived } from './sql/count-events-in.ts'
import { countMessages } from './sql/count-messages.ts'
import { countSettled } from './sql/count-settled.ts'
import { findUnfinished } from './sql/find-unfinished.ts'
import { listWorkers } from './sql/list-workers.ts'

/** The part of the store that counts. */
export function createStats(connections: Connections): StatsStore {
  return {
    now: () => connections.read(readClock),
    countPlace: (place, most) => connections.read((reader) => countEventsIn(reader, place, most)),
    countDue: (most) => connections.read((reader) => countDue(reader, most)),
    countReceived: (range, source, most) =>
      connections.read((reader) => countReceived(reader, range, source, most)),
    countSettled: (request) => connections.read((reader) => countSettled(reader, request)),
    countMessages: (most) => connections.read((reader) => countMessages(reader, most)),
    listWorkers: () => connections.read(listWorkers),
    listOpenTransactions: () => Promise.resolve(undefined),
    findUnfinished: (query) => connections.read((reader) => findUnfinished(reader, query)),
  }
}

const READ_CLOCK = `
  select cast(unixepoch('subsec') * 1000 as integer) as now`

function readClock(connection: Connection): Date {
  return new Date(connection.all<{ now: number }>(READ_CLOCK)[0]?.now ?? 0)
}
