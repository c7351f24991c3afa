import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// $1 event
const RETRY = `
  with gone as (
         delete from {schema}.outcomes
          where event_id = $1 and state = 'dead'
         returning event_id, run)
  insert into {schema}.queue (event_id, topic, run, run_at, bytes)
  select gone.event_id, e.topic, gone.run, clock_timestamp(), octet_length(e.body)
    from gone
    join {schema}.events e on e.id = gone.event_id`

/** Queues a dead event again with its attempts at zero. `false` when it is not dead. */
export async function retryEvent(connection: Connection, eventId: EventId): Promise<boolean> {
  const { rowCount } = await connection.query(RETRY, [eventId])
  return rowCount === 1
}
