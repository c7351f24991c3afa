import { refusalOfBulk } from '../../../model/bulk.ts'
import type { BulkActed, BulkAction, BulkId } from '../../../model/bulk.ts'
import type { EventId } from '../../../model/event.ts'
import type { BulkAbort, BulkOrder, BulkOrderResult, BulkRunBegun } from '../../contract/bulks.ts'
import type { Ordered } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { findByToken, writeAudit } from './audit.ts'
import { findBulk, termsOf } from './plan-bulk.ts'

// 1 bulk
const FIND_PLANNED = `
  select action, reason, actor, terms
    from {prefix}bulks
   where id = ? and state = 'planned'`

// 1 bulk
//
// The oldest first: what is replayed in a lane runs next, and would be applied backwards.
const TAKE = `
  select event_id
    from {prefix}bulk_events
   where bulk_id = ? and outcome is null
   order by event_id
   limit 1`

/** What is done to the event, in the transaction of the caller. */
export type ActInBulk = (connection: Connection, order: BulkOrder) => BulkOrderResult

/** Inside a write transaction: nothing comes between these statements. */
export function actOnNextInBulk(connection: Connection, id: BulkId, act: ActInBulk): BulkActed {
  const [bulk] = connection.all<PlannedRow>(FIND_PLANNED, [id])
  if (bulk === undefined) return { status: 'none' }
  const eventId = connection.all<{ event_id: EventId }>(TAKE, [id])[0]?.event_id
  if (eventId === undefined) return { status: 'none' }
  const { action, reason, actor, terms } = bulk
  const result = act(connection, {
    action,
    eventId,
    reason: reason ?? undefined,
    actor: actor ?? undefined,
    terms: termsOf(terms),
  })
  noteInBulk(connection, id, eventId, result)
  return { eventId, ...result }
}

type PlannedRow = {
  action: BulkAction
  reason: string | null
  actor: string | null
  terms: string | null
}

// 1 outcome  2 bulk  3 event id
const NOTE = `
  update {prefix}bulk_events
     set outcome = ?, acted_at = cast(unixepoch('subsec') * 1000 as integer)
   where bulk_id = ? and event_id = ? and outcome is null`

function noteInBulk(
  connection: Connection,
  id: BulkId,
  eventId: EventId,
  result: BulkOrderResult,
): void {
  connection.run(NOTE, [result.status === 'done' ? 'done' : result.code, id, eventId])
}

/** Inside a write transaction. */
export function beginBulkRun(connection: Connection, id: BulkId, order: Ordered): BulkRunBegun {
  const deed = { action: 'bulk.run', kind: 'bulk', id } as const
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  const state = findBulk(connection, id)?.state
  if (state !== 'planned') return { status: 'refused', code: refusalOfBulk(state) }
  return writeAudit(connection, deed, order, { status: 'done' })
}

// 1 bulk
const ABORT = `
  update {prefix}bulks set state = 'aborted' where id = ? and state = 'planned'`

/** Inside a write transaction. */
export function abortBulk(connection: Connection, id: BulkId, order: Ordered): BulkAbort {
  const deed = { action: 'bulk.abort', kind: 'bulk', id } as const
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  if (connection.run(ABORT, [id]) === 1)
    return writeAudit(connection, deed, order, { status: 'done' })
  return { status: 'refused', code: refusalOfBulk(findBulk(connection, id)?.state) }
}
