import type { OperatorStore } from '../contract/operators.ts'
import { actOnEvent } from './act-on-event.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
import { listAudit } from './sql/audit.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findRequest } from './sql/find-request.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { listSecretUses } from './sql/list-secret-uses.ts'
import { listRuns } from './sql/replay-event.ts'

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
    listDead: (limit) => connections.use((connection) => listDead(connection, limit)),
    act: (request) => actOnEvent(connections, request),
    listRuns: async (id) =>
      isEventId(id) ? connections.use((connection) => listRuns(connection, id)) : [],
    listSecretUses: (source) => connections.use((connection) => listSecretUses(connection, source)),
    listAudit: (query) => connections.use((connection) => listAudit(connection, query)),
  }
}
