import type { OperatorStore } from '../contract/operators.ts'
import { actOnEvent } from './act-on-event.ts'
import type { Connections } from './connections.ts'
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
    findEvent: (id) => connections.read((reader) => findEvent(reader, id)),
    findRequest: (id) => connections.read((reader) => findRequest(reader, id)),
    listEventsByKey: (source, key) =>
      connections.read((reader) => listEventsByKey(reader, { source, key })),
    countEvents: (source) => connections.read((reader) => countEvents(reader, source)),
    listDead: (limit) => connections.read((reader) => listDead(reader, limit)),
    act: (request) => connections.write('durably', (connection) => actOnEvent(connection, request)),
    listRuns: (id) => connections.read((reader) => listRuns(reader, id)),
    listSecretUses: (source) => connections.read((reader) => listSecretUses(reader, source)),
    listAudit: (query) => connections.read((reader) => listAudit(reader, query)),
  }
}
