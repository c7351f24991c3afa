import type { BulkActed, BulkAction, BulkId } from '../../../model/bulk.ts'
import type { EventId } from '../../../model/event.ts'
import type { BulkOrder, BulkOrderResult } from '../../contract/bulks.ts'
import type { Connection } from '../connection.ts'

// 1 bulk
const FIND_PLANNED = `
  select action, reason, actor
    from {prefix}bulks
   where id = ? and state = 'planned'`

// 1 bulk
const TAKE = `
  select event_id
    from {prefix}bulk_events
   where bulk_id = ? and outcome is null
   order by event_id desc
   limit 1`

/** What is done to the event, in the transaction of the caller. */
export type ActInBulk = (connection: Connection, order: BulkOrder) => BulkOrderResult

/** Inside a write transaction: nothing comes between these statements. */
export function actOnNextInBulk(connection: Connection, id: BulkId, act: ActInBulk): BulkActed {
  type PlannedRow = { action: BulkAction; reason: string | null; actor: string | null }
  const [bulk] = connection.all<PlannedRow>(FIND_PLANNED, [id])
  if (bulk === undefined) return { status: 'none' }
  const eventId = connection.all<{ event_id: EventId }>(TAKE, [id])[0]?.event_id
  if (eventId === undefined) return { status: 'none' }
  const { action, reason, actor } = bulk
  const order = { action, eventId, reason: reason ?? undefined, actor: actor ?? undefined }
  const result = act(connection, order)
  noteInBulk(connection, id, eventId, result)
  return { eventId, ...result }
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

// 1 bulk
const ABORT = `
  update {prefix}bulks set state = 'aborted' where id = ? and state = 'planned'`

export function abortBulk(connection: Connection, id: BulkId): boolean {
  return connection.run(ABORT, [id]) === 1
}
