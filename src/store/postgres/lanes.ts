import type { LaneStore } from '../contract/lanes.ts'
import type { Connections } from './connections.ts'
import { sortLockOf } from './lock-number.ts'
import { listUnsorted, readUnsorted } from './sql/list-unsorted.ts'
import { mendBlocked } from './sql/mend-blocked.ts'
import { listLate, passDeadlines } from './sql/pass-deadlines.ts'
import { sortEvents } from './sql/sort-events.ts'
import { takeLaneNews } from './sql/take-lane-news.ts'
import { UnsortedPositions } from './unsorted-positions.ts'

/** The part of the store that keeps events in their order. */
export function createLanes(connections: Connections, schema: string): LaneStore {
  const positions = new UnsortedPositions()
  return {
    listUnsorted: (source) =>
      connections.use((connection) => listUnsorted(connection, source, positions)),
    readUnsorted: (request) =>
      connections.use((connection) => readUnsorted(connection, request, positions)),
    sort: (request) =>
      connections.transact((connection) => {
        const sortLock = sortLockOf(schema, request.source)
        return sortEvents(connection, request, { sortLock, positions })
      }),
    listLate: async () => {
      const late = await connections.use(listLate)
      // What they wait for may have been stored below a position: all of it is sorted before they are decided about.
      for (const { source } of late) positions.forget(source)
      return late
    },
    passDeadlines: (request) => passDeadlines(connections, request),
    mendBlocked: (limit) => connections.transact((connection) => mendBlocked(connection, limit)),
    takeNews: (limit) => takeLaneNews(connections, limit),
  }
}
