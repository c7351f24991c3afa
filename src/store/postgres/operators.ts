import type { OperatorStore } from '../contract/operators.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
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
    findEvent: async (id) =>
      isEventId(id) ? connections.use((connection) => findEvent(connection, id)) : undefined,
    findRequest: async (id) =>
      isEventId(id) ? connections.use((connection) => findRequest(connection, id)) : undefined,
    listEventsByKey: (source, key) =>
      connections.use((connection) => listEventsByKey(connection, source, key)),
    countEvents: (source) => connections.use((connection) => countEvents(connection, source)),
    forgetEvent: async (id) =>
      isEventId(id) && connections.transact((connection) => forgetEvent(connection, id)),
    listDead: (limit) => connections.use((connection) => listDead(connection, limit)),
    retryEvent: async (id) =>
      isEventId(id) && connections.transact((connection) => retryEvent(connection, id)),
  }
}
