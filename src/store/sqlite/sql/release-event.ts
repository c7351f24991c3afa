import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'
import { takeKey } from './take-key.ts'

// 1 event id  2 run
const UNPARK = `
  update {prefix}queue
     set parked = null,
         parked_reason = null,
         run_at = cast(unixepoch('subsec') * 1000 as integer)
   where event_id = ?
     and run = ?`

/**
 * Lets a conflict or a quarantined event run, as an event of its own. `false` when its key stands for another event
 * with the same content: it has arrived. Inside a write transaction.
 */
export function releaseEvent(connection: Connection, eventId: EventId, run: number): boolean {
  if (!takeKey(connection, eventId)) return false
  connection.run(UNPARK, [eventId, run])
  return true
}
