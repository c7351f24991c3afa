import type { LaneStore } from '../contract/lanes.ts'
import type { Connections } from './connections.ts'
import { listUnsorted, readUnsorted } from './sql/list-unsorted.ts'
import { listUnblocked, mendBlocked } from './sql/mend-blocked.ts'
import { listLate, passDeadlines } from './sql/pass-deadlines.ts'
import { sortEvents } from './sql/sort-events.ts'
import { hasLaneNews, takeLaneNews } from './sql/take-lane-news.ts'

/** The part of the store that keeps events in their order. */
export function createLanes(connections: Connections): LaneStore {
  return {
    listUnsorted: (source) => connections.read((reader) => listUnsorted(reader, source)),
    readUnsorted: (request) => connections.read((reader) => readUnsorted(reader, request)),
    sort: (request) =>
      connections.write('durably', (connection) => sortEvents(connection, request)),
    listLate: () => connections.read(listLate),
    passDeadlines: async (request) => {
      if (request.late.length === 0) return []
      return connections.write('durably', (connection) => passDeadlines(connection, request))
    },
    mendBlocked: async (limit) => {
      const found = await connections.read((reader) => listUnblocked(reader, 1))
      if (found.length === 0) return 0
      return connections.write('durably', (connection) => mendBlocked(connection, limit))
    },
    takeNews: async (limit) => {
      if (!(await connections.read(hasLaneNews))) return []
      return connections.write('lazily', (connection) => takeLaneNews(connection, limit))
    },
  }
}
