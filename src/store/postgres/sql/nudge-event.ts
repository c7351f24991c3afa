import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// $1 event
//
// An event that a worker holds is skipped: it is being tried, and waiting for it would be waiting
// for its handler.
const NUDGE = `
  with waiting as materialized (
         select event_id, run
           from {schema}.queue
          where event_id = $1 and parked is null and attempts > 0 and run_at > clock_timestamp()
            and lease_token is null
            for update skip locked)
  update {schema}.queue q
     set run_at = clock_timestamp()
    from waiting
   where q.event_id = waiting.event_id and q.run = waiting.run`

/** Makes an event that waits for its next attempt due now. */
export async function nudgeEvent(connection: Connection, eventId: EventId): Promise<void> {
  await connection.query(NUDGE, [eventId])
}
