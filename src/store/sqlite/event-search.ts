import type { EventSearchStore } from '../contract/event-search.ts'
import type { Connections } from './connections.ts'
import { readBodies } from './sql/read-bodies.ts'
import { summarize, walkEvents, walkKey } from './sql/walk-events.ts'

/** The part of the store for those who look for events. */
export function createEventSearch(connections: Connections): EventSearchStore {
  return {
    walk: (request) => connections.read((reader) => walkEvents(reader, request)),
    walkKey: (key, request) => connections.read((reader) => walkKey(reader, key, request)),
    summarize: (ids) => connections.read((reader) => summarize(reader, ids)),
    readBodies: (ids, bytesMax) => connections.read((reader) => readBodies(reader, ids, bytesMax)),
  }
}
