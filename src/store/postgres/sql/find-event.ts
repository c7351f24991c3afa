import type { EventId } from '../../../model/event.ts'
import type { EventRecord } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { SELECT_RECORDS, asEventRecord } from './event-record.ts'

// $1 event
const FIND = `${SELECT_RECORDS}
   where e.id = $1`

export async function findEvent(
  connection: Connection,
  eventId: EventId,
): Promise<EventRecord | undefined> {
  const { rows } = await connection.query(FIND, [eventId])
  return rows[0] === undefined ? undefined : asEventRecord(rows[0])
}
