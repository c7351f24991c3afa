import type { BulkActed, BulkAction, BulkId } from '../../../model/bulk.ts'
import type { EventId } from '../../../model/event.ts'
import type { BulkOrder, BulkOrderResult } from '../../contract/bulks.ts'
import type { Connection } from '../connection.ts'

// $1 bulk
//
// Held until the transaction ends: an abort waits for what is being done, and nothing is done after it.
const HOLD = `
  select action, reason, actor
    from {schema}.bulks
   where id = $1 and state = 'planned'
     for share`

// $1 bulk
const TAKE = `
  select event_id
    from {schema}.bulk_events
   where bulk_id = $1 and outcome is null
   order by event_id desc
   limit 1
     for update skip locked`

/** What is done to the event, in the transaction of the caller. */
export type ActInBulk = (connection: Connection, order: BulkOrder) => Promise<BulkOrderResult>

/** Runs inside a transaction of the caller. `onTaken` is told which event it is, before anything is done to it. */
export async function actOnNextInBulk(
  connection: Connection,
  id: BulkId,
  { act, onTaken }: { readonly act: ActInBulk; readonly onTaken: (eventId: EventId) => void },
): Promise<BulkActed> {
  const { rows: bulks } = await connection.query<'action' | 'reason' | 'actor'>(HOLD, [id])
  const [bulk] = bulks
  if (bulk === undefined) return { status: 'none' }
  const { rows } = await connection.query<'event_id'>(TAKE, [id])
  const eventId = rows[0]?.event_id ?? undefined
  if (eventId === undefined) return { status: 'none' }
  onTaken(eventId)
  const { action, reason, actor } = bulk
  const result = await act(connection, {
    action: action as BulkAction,
    eventId,
    reason: reason ?? undefined,
    actor: actor ?? undefined,
  })
  await noteInBulk(connection, id, eventId, result)
  return { eventId, ...result }
}

// $1 bulk  $2 event  $3 outcome
const NOTE = `
  update {schema}.bulk_events
     set outcome = $3, acted_at = clock_timestamp()
   where bulk_id = $1 and event_id = $2 and outcome is null`

/** Writes what became of the event. */
export async function noteInBulk(
  connection: Connection,
  id: BulkId,
  eventId: EventId,
  result: BulkOrderResult,
): Promise<void> {
  const outcome = result.status === 'done' ? 'done' : result.code
  await connection.query(NOTE, [id, eventId, outcome])
}

// $1 bulk
const ABORT = `
  update {schema}.bulks set state = 'aborted' where id = $1 and state = 'planned'`

export async function abortBulk(connection: Connection, id: BulkId): Promise<boolean> {
  const { rowCount } = await connection.query(ABORT, [id])
  return rowCount === 1
}
