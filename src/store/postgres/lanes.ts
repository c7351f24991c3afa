import type { LaneStore } from '../contract/lanes.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
import { lockNumber } from './lock-number.ts'
import { findBlocker } from './sql/find-blocker.ts'
import { listUnsorted, readUnsorted } from './sql/list-unsorted.ts'
import { mendBlocked } from './sql/mend-blocked.ts'
import { passDeadlines } from './sql/pass-deadlines.ts'
import { sortEvents } from './sql/sort-events.ts'
import { takeLaneNews } from './sql/take-lane-news.ts'

/** The part of the store that keeps events in their order. */
export function createLanes(connections: Connections, schema: string): LaneStore {
  return {
    listUnsorted: (source) => connections.use((connection) => listUnsorted(connection, source)),
    readUnsorted: (request) => connections.use((connection) => readUnsorted(connection, request)),
    sort: (request) =>
      connections.transact((connection) =>
        sortEvents(connection, request, lockNumber(schema, `sort ${request.source}`)),
      ),
    passDeadlines: (limit) => passDeadlines(connections, limit),
    mendBlocked: (limit) => connections.transact((connection) => mendBlocked(connection, limit)),
    takeNews: (limit) => takeLaneNews(connections, limit),
    findBlocker: async (id) =>
      isEventId(id) ? connections.use((connection) => findBlocker(connection, id)) : undefined,
  }
}
