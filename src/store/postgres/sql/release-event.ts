import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'
import { takeKey } from './take-key.ts'

// $1 event  $2 run
const UNPARK = `
  update {schema}.queue
     set parked = null, parked_reason = null, run_at = clock_timestamp()
   where event_id = $1 and run = $2`

/**
 * Lets a conflict or a quarantined event run, as an event of its own. `false` when its key stands for another event
 * with the same content: it has arrived. Under the event's locks.
 */
export async function releaseEvent(
  connection: Connection,
  eventId: EventId,
  run: number,
): Promise<boolean> {
  if (!(await takeKey(connection, eventId))) return false
  await connection.query(UNPARK, [eventId, run])
  return true
}
