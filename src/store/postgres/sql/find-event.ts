import type { EventId } from '../../../model/event.ts'
import type { EventRecord } from '../../../model/outcome.ts'
import { prunedRecord } from '../../shared/pruned-record.ts'
import type { Connection } from '../connection.ts'
import { findOutcome } from './find-outcome.ts'
import { findBlocker } from './find-blocker.ts'
import { SELECT_RECORDS, asEventRecord } from './event-record.ts'

// $1 event
const FIND = `${SELECT_RECORDS}
   where e.id = $1`

export async function findEvent(
  connection: Connection,
  eventId: EventId,
): Promise<EventRecord | undefined> {
  const { rows } = await connection.query(FIND, [eventId])
  if (rows[0] === undefined) return findPruned(connection, eventId)
  const event = asEventRecord(rows[0])
  if (event.state !== 'waiting') return event
  return { ...event, blockedBy: await findBlocker(connection, eventId) }
}

/** How an event ended is kept for longer than its payload. */
async function findPruned(
  connection: Connection,
  eventId: EventId,
): Promise<EventRecord | undefined> {
  const view = await findOutcome(connection, eventId)
  return view?.outcome === undefined ? undefined : prunedRecord(eventId, view.outcome)
}
