import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// $1 event  $2 run
//
// What died because something was missing in its lane would die of it again: a person wants it to run, so it runs when
// it has waited once more. Sorting keeps that.
const REQUEUE = `
  with gone as (
         delete from {schema}.outcomes
          where event_id = $1 and run = $2
         returning event_id, run)
  insert into {schema}.queue (event_id, topic, run, run_at, bytes, policy)
  select gone.event_id, e.topic, gone.run, clock_timestamp(), octet_length(coalesce(r.body, e.body)),
         (select case a.reason when 'order' then 'run' end
            from {schema}.attempts a
           where a.event_id = $1 and a.run = $2
           order by a.failed_at desc
           limit 1)
    from gone
    join {schema}.events e on e.id = gone.event_id
    left join {schema}.runs r on r.event_id = gone.event_id and r.run = gone.run`

// $1 event  $2 run
const MAKE_DUE = `
  update {schema}.queue
     set run_at = clock_timestamp()
   where event_id = $1 and run = $2`

/** Queues a dead event again, with its attempts at zero; one that is queued is due now. Under the event's locks. */
export async function retryEvent(
  connection: Connection,
  eventId: EventId,
  { state, run }: { readonly state: string; readonly run: number },
): Promise<void> {
  await connection.query(state === 'dead' ? REQUEUE : MAKE_DUE, [eventId, run])
}
