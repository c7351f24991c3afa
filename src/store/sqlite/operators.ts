import type { OperatorStore } from '../contract/operators.ts'
import type { Cipher } from '../shared/encryption/cipher.ts'
import { openRequest } from '../shared/encryption/sealed-operators.ts'
import { actOnEvent } from './act-on-event.ts'
import type { Connections } from './connections.ts'
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
    findEvent: (id) => connections.read((reader) => findEvent(reader, id)),
    findRequest: async (id) =>
      openRequest(cipher, id, await connections.read((reader) => findRequest(reader, id))),
    listEventsByKey: (source, key, page) =>
      connections.read((reader) => listEventsByKey(reader, { source, key, ...page })),
    countEvents: (source) => connections.read((reader) => countEvents(reader, source)),
    listDead: (page) => connections.read((reader) => listDead(reader, page)),
    act: (request) => connections.write('durably', (connection) => actOnEvent(connection, request)),
    listRuns: (id, page) => connections.read((reader) => listRuns(reader, id, page)),
    listSecretUses: (source) => connections.read((reader) => listSecretUses(reader, source)),
    beginBackfill: (source, order) =>
      connections.write('durably', (connection) =>
        addAudit(
          connection,
          { action: 'backfill', kind: 'source', id: source },
          { ...order, token: undefined },
          { status: 'begun' },
        ),
      ),
    endBackfill: (auditId, outcome) =>
      connections.write('durably', (connection) => endAudit(connection, auditId, outcome)),
    listAudit: (query) => connections.read((reader) => listAudit(reader, query)),
  }
}
