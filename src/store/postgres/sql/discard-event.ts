import type { EventId } from '../../../model/event.ts'
import { withoutNul } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 event  $2 run  $3 reason
const SETTLE_QUEUED = `
  with gone as (
         delete from {schema}.queue
          where event_id = $1 and run = $2
         returning event_id, run, attempts)
  insert into {schema}.outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at)
  select event_id, run, 'discarded', attempts, 0, $3, clock_timestamp()
    from gone`

// $1 event  $2 run  $3 reason
const SETTLE_DEAD = `
  update {schema}.outcomes
     set state = 'discarded', reason = $3, settled_at = clock_timestamp()
   where event_id = $1 and run = $2`

/** Settles an event that is queued or dead as discarded; its failures stay on record. Under the event's locks. */
export async function discardEvent(
  connection: Connection,
  eventId: EventId,
  { state, run }: { readonly state: string; readonly run: number },
  reason: string | undefined,
): Promise<void> {
  await connection.query(state === 'dead' ? SETTLE_DEAD : SETTLE_QUEUED, [
    eventId,
    run,
    reason === undefined ? null : withoutNul(reason),
  ])
}
