import type { OperatorStore } from '../contract/operators.ts'
import type { Connections } from './connections.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findRequest } from './sql/find-request.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { retryEvent } from './sql/retry-event.ts'

/** The part of the store for those who look after events. */
export function createOperators(connections: Connections): OperatorStore {
  return {
    findEvent: (id) => connections.read((reader) => findEvent(reader, id)),
    findRequest: (id) => connections.read((reader) => findRequest(reader, id)),
    listEventsByKey: (source, key) =>
      connections.read((reader) => listEventsByKey(reader, { source, key })),
    countEvents: (source) => connections.read((reader) => countEvents(reader, source)),
    forgetEvent: (id) => connections.write('durably', (connection) => forgetEvent(connection, id)),
    listDead: (limit) => connections.read((reader) => listDead(reader, limit)),
    retryEvent: (id) => connections.write('durably', (connection) => retryEvent(connection, id)),
  }
}
