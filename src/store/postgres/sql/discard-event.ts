import type { EventId } from '../../../model/event.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'
import { lockLanes, mendLanes } from './mend-lanes.ts'

// $1 event  $2 run  $3 reason
const SETTLE_QUEUED = `
  with gone as (
         delete from {schema}.queue
          where event_id = $1 and run = $2
         returning event_id, run, attempts, lane_id, place),
       settled as (
         insert into {schema}.outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at, lane_id, place)
         select event_id, run, 'discarded', attempts, 0, $3, clock_timestamp(), lane_id, place
           from gone)
  select lane_id
    from gone
   where lane_id is not null`

// $1 event  $2 run  $3 reason
const SETTLE_DEAD = `
  update {schema}.outcomes
     set state = 'discarded', reason = $3, settled_at = clock_timestamp()
   where event_id = $1 and run = $2`

/**
 * Settles an event that is queued or dead as discarded; its failures stay on record. Under the event's locks, and that
 * of its lane, which goes on without it.
 */
export async function discardEvent(
  connection: Connection,
  eventId: EventId,
  { state, run }: { readonly state: string; readonly run: number },
  reason: string | undefined,
): Promise<void> {
  const values = [eventId, run, reason === undefined ? null : withoutNul(reason)]
  if (state === 'dead') {
    await connection.query(SETTLE_DEAD, values)
    return
  }
  const { rows } = await connection.query<'lane_id'>(SETTLE_QUEUED, values)
  const lane = rows[0]?.lane_id
  if (lane != null) await mendLanes(connection, [lane])
}

// $1 event
const FIND_LANES = `
  select distinct lane_id from {schema}.queue where event_id = $1 and lane_id is not null`

/**
 * Before the queue row of the event is locked: what ends an event of the lane locks the lane, and then the rows of
 * those behind it.
 */
export async function lockLanesOf(connection: Connection, eventId: EventId): Promise<void> {
  const { rows } = await connection.query<'lane_id'>(FIND_LANES, [eventId])
  const lanes = rows.flatMap(({ lane_id }) => lane_id ?? [])
  if (lanes.length > 0) await lockLanes(connection, lanes)
}
