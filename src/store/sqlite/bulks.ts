import { isMessageBulk } from '../../model/bulk.ts'
import type { BulkOrder, BulkOrderResult, BulkStore } from '../contract/bulks.ts'
import { actOnEvent } from './act-on-event.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { decideMessage } from './sql/decide-message.ts'
import {
  addBulkEvents,
  createBulk,
  endBulkPlanning,
  findBulk,
  listBulkEvents,
  listBulks,
} from './sql/plan-bulk.ts'
import { abortBulk, actOnNextInBulk, beginBulkRun } from './sql/run-bulk.ts'
import { requestOf } from '../shared/bulk-request.ts'

/** The part of the store that keeps actions on many events. */
export function createBulks(connections: Connections): BulkStore {
  return {
    create: (draft) => connections.write('durably', (connection) => createBulk(connection, draft)),
    addEvents: (id, eventIds) =>
      connections.write('durably', (connection) => addBulkEvents(connection, id, eventIds)),
    endPlanning: (id) =>
      connections.write('durably', (connection) => endBulkPlanning(connection, id)),
    find: (id) => connections.read((reader) => findBulk(reader, id)),
    list: (query) => connections.read((reader) => listBulks(reader, query)),
    listEvents: (id, limit) => connections.read((reader) => listBulkEvents(reader, id, limit)),
    actOnNext: (id) =>
      connections.write('durably', (connection) => actOnNextInBulk(connection, id, act)),
    beginRun: (id, order) =>
      connections.write('durably', (connection) => beginBulkRun(connection, id, order)),
    abort: (id, order) =>
      connections.write('durably', (connection) => abortBulk(connection, id, order)),
  }
}

function act(connection: Connection, order: BulkOrder): BulkOrderResult {
  const { action, eventId: id, reason, actor } = order
  return isMessageBulk(action)
    ? decideMessage(connection, action, id, { reason, actor, token: undefined })
    : actOnEvent(connection, requestOf({ ...order, action }))
}
