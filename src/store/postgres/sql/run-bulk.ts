import { refusalOfBulk } from '../../../model/bulk.ts'
import type { BulkActed, BulkAction, BulkId } from '../../../model/bulk.ts'
import type { EventId } from '../../../model/event.ts'
import type { BulkAbort, BulkOrder, BulkOrderResult, BulkRunBegun } from '../../contract/bulks.ts'
import type { Ordered } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { findByToken, writeAudit } from './audit.ts'
import { findBulk, termsOf } from './plan-bulk.ts'

// $1 bulk
//
// Held until the transaction ends: an abort waits for what is being done, and nothing is done after it. Another process
// that runs the same bulk waits as well, or it would act on a later event of a lane before this one.
const HOLD = `
  select action, reason, actor, terms
    from {schema}.bulks
   where id = $1 and state = 'planned'
     for no key update`

// $1 bulk
//
// The oldest first: what is replayed in a lane runs next, and would be applied backwards.
const TAKE = `
  select event_id
    from {schema}.bulk_events
   where bulk_id = $1 and outcome is null
   order by event_id
   limit 1
     for update`

/** What is done to the event, in the transaction of the caller. */
export type ActInBulk = (connection: Connection, order: BulkOrder) => Promise<BulkOrderResult>

/** Runs inside a transaction of the caller. `onTaken` is told which event it is, before anything is done to it. */
export async function actOnNextInBulk(
  connection: Connection,
  id: BulkId,
  { act, onTaken }: { readonly act: ActInBulk; readonly onTaken: (eventId: EventId) => void },
): Promise<BulkActed> {
  const { rows: bulks } = await connection.query<BulkColumn>(HOLD, [id])
  const [bulk] = bulks
  if (bulk === undefined) return { status: 'none' }
  const { rows } = await connection.query<'event_id'>(TAKE, [id])
  const eventId = rows[0]?.event_id ?? undefined
  if (eventId === undefined) return { status: 'none' }
  onTaken(eventId)
  const { action, reason, actor, terms } = bulk
  const result = await act(connection, {
    action: action as BulkAction,
    eventId,
    reason: reason ?? undefined,
    actor: actor ?? undefined,
    terms: termsOf(terms),
  })
  await noteInBulk(connection, id, eventId, result)
  return { eventId, ...result }
}

type BulkColumn = 'action' | 'reason' | 'actor' | 'terms'

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

/** Inside a transaction of the caller. */
export async function beginBulkRun(
  connection: Connection,
  id: BulkId,
  order: Ordered,
): Promise<BulkRunBegun> {
  const deed = { action: 'bulk.run', kind: 'bulk', id } as const
  const before = await findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  const { state } = (await findBulk(connection, id)) ?? {}
  if (state !== 'planned') return { status: 'refused', code: refusalOfBulk(state) }
  return writeAudit(connection, deed, order, { status: 'done' })
}

// $1 bulk
const ABORT = `
  update {schema}.bulks set state = 'aborted' where id = $1 and state = 'planned'`

/** Inside a transaction of the caller. */
export async function abortBulk(
  connection: Connection,
  id: BulkId,
  order: Ordered,
): Promise<BulkAbort> {
  const deed = { action: 'bulk.abort', kind: 'bulk', id } as const
  const findDone = () => findByToken<{ status: 'done' }>(connection, deed, order.token)
  const before = await findDone()
  if (before !== undefined) return before
  const { rowCount } = await connection.query(ABORT, [id])
  if (rowCount === 1) return writeAudit(connection, deed, order, { status: 'done' })
  const doneSince = await findDone()
  if (doneSince !== undefined) return doneSince
  const { state } = (await findBulk(connection, id)) ?? {}
  return { status: 'refused', code: refusalOfBulk(state) }
}
