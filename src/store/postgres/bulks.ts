import { isMessageBulk } from '../../model/bulk.ts'
import type { BulkActed, BulkId } from '../../model/bulk.ts'
import type { EventId } from '../../model/event.ts'
import type { BulkOrder, BulkOrderResult, BulkStore } from '../contract/bulks.ts'
import { actWithin, atMostOnce } from './act-on-event.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
import { decideMessage } from './sql/decide-message.ts'
import {
  addBulkEvents,
  createBulk,
  endBulkPlanning,
  findBulk,
  listBulkEvents,
  listBulks,
} from './sql/plan-bulk.ts'
import { abortBulk, actOnNextInBulk, beginBulkRun, noteInBulk } from './sql/run-bulk.ts'
import { requestOf } from '../shared/bulk-request.ts'
import { findStateBehind } from './store-error.ts'

const LOCK_TIMEOUT = '55P03'

/** The part of the store that keeps actions on many events. */
export function createBulks(connections: Connections): BulkStore {
  return {
    create: (draft) =>
      atMostOnce(() => connections.transact((connection) => createBulk(connection, draft))),
    addEvents: (id, eventIds) =>
      connections.transact((connection) => addBulkEvents(connection, id, eventIds)),
    endPlanning: (id) => connections.transact((connection) => endBulkPlanning(connection, id)),
    find: async (id) =>
      isEventId(id) ? connections.use((connection) => findBulk(connection, id)) : undefined,
    list: (query) => connections.use((connection) => listBulks(connection, query)),
    listEvents: (id, limit) =>
      connections.use((connection) => listBulkEvents(connection, id, limit)),
    actOnNext: async (id) => (isEventId(id) ? actOnNext(connections, id) : { status: 'none' }),
    beginRun: async (id, order) =>
      isEventId(id)
        ? atMostOnce(() =>
            connections.transact((connection) => beginBulkRun(connection, id, order)),
          )
        : { status: 'refused', code: 'BULK_UNKNOWN' },
    abort: async (id, order) =>
      isEventId(id)
        ? atMostOnce(() => connections.transact((connection) => abortBulk(connection, id, order)))
        : { status: 'refused', code: 'BULK_UNKNOWN' },
  }
}

async function actOnNext(connections: Connections, id: BulkId): Promise<BulkActed> {
  let taken: EventId | undefined
  try {
    return await connections.transact((connection) =>
      actOnNextInBulk(connection, id, { act, onTaken: (eventId) => (taken = eventId) }),
    )
  } catch (error) {
    if (findStateBehind(error) !== LOCK_TIMEOUT || taken === undefined) throw error
    // A worker has the event in hand, and nothing was done to it.
    const refused = { status: 'refused', code: 'EVENT_RUNNING' } as const
    const eventId = taken
    await connections.transact((connection) => noteInBulk(connection, id, eventId, refused))
    return { eventId, ...refused }
  }
}

async function act(connection: Connection, order: BulkOrder): Promise<BulkOrderResult> {
  const { action, eventId: id, reason, actor } = order
  return isMessageBulk(action)
    ? decideMessage(connection, action, id, { reason, actor, token: undefined })
    : actWithin(connection, requestOf({ ...order, action }))
}
