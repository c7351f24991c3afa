import type { OperatorStore } from '../contract/operators.ts'
import type { Cipher } from '../shared/encryption/cipher.ts'
import { openRequest } from '../shared/encryption/sealed-operators.ts'
import { actOnEvent } from './act-on-event.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
import { addAudit, endAudit, listAudit } from './sql/audit.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findRequest } from './sql/find-request.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { listSecretUses } from './sql/list-secret-uses.ts'
import { listRuns } from './sql/replay-event.ts'

/** The part of the store for operators. */
export function createOperators(
  connections: Connections,
  cipher: Cipher | undefined,
): OperatorStore {
  return {
    findEvent: async (id) =>
      isEventId(id) ? connections.use((connection) => findEvent(connection, id)) : undefined,
    findRequest: async (id) => {
      if (!isEventId(id)) return undefined
      const stored = await connections.use((connection) => findRequest(connection, id))
      return openRequest(cipher, id, stored)
    },
    listEventsByKey: (source, key, page) =>
      connections.use((connection) => listEventsByKey(connection, { source, key, ...page })),
    countEvents: (source) => connections.use((connection) => countEvents(connection, source)),
    listDead: (page) => connections.use((connection) => listDead(connection, page)),
    act: (request) => actOnEvent(connections, request),
    listRuns: async (id, page) =>
      isEventId(id) ? connections.use((connection) => listRuns(connection, id, page)) : [],
    listSecretUses: (source) => connections.use((connection) => listSecretUses(connection, source)),
    beginBackfill: (source, order) =>
      connections.transact((connection) =>
        addAudit(
          connection,
          { action: 'backfill', kind: 'source', id: source },
          { ...order, token: undefined },
          { status: 'begun' },
        ),
      ),
    endBackfill: (auditId, outcome) =>
      connections.transact((connection) => endAudit(connection, auditId, outcome)),
    listAudit: (query) => connections.use((connection) => listAudit(connection, query)),
  }
}
