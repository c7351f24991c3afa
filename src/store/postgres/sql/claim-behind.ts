/**
 * Locks what is next behind claimed heads of fifo lanes, so that a lane that is always full is not bound to one event
 * for each COMMIT. Called when there are fewer heads than a group may have: a full lane takes no other's place.
 *
 * What is behind stays parked until the group ends, and is in its lane as it was if it has not run. An event of another
 * topic, one that was tried, and one behind a dead event end the line. So does one that another transaction holds.
 *
 * @module
 */

import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { WorkerSlot } from '../../contract/workers.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import {
  asClaimedEvent,
  CLAIM_BYTES_MAX,
  CLAIMED,
  CLAIMED_COLUMNS,
  joinReplay,
  LANE_COLUMNS,
} from './claim-group.ts'

export const CREATE_CLAIM_BEHIND = `
create or replace function {schema}.claim_behind(
  worker text, which integer, heads uuid[], most integer, bytes_max bigint)
returns table (${CLAIMED})
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $claim_behind$
#variable_conflict use_column
begin
  return query
  with full_lanes as materialized (
         select l.lane_id, q.topic
           from {schema}.queue q
           join {schema}.lanes l on l.lane_id = q.lane_id
          where q.event_id = any(heads) and q.parked is null and l.mode = 'fifo' and l.paused_at is null),
       behind as materialized (
         select row_of.*
           from full_lanes f
          cross join lateral (
                select n.event_id, n.run, n.bytes, row_number() over so_far as nth,
                       bool_and(n.topic = f.topic and n.attempts = 0 and n.crashes = 0 and not n.leasable
                                and not exists (select from {schema}.lane_blocks b
                                                 where b.lane_id = f.lane_id and (b.event_id, b.run) < (n.event_id, n.run))
                                and (n.event_id, n.attempts + 1) not in (
                                    select r.event_id, r.attempt
                                      from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                                     where (w.worker_id, w.slot) <> (worker, which))) over so_far as is_next
                  from (select q.*
                          from {schema}.queue q
                         where q.lane_id = f.lane_id and q.parked = 'waiting'
                         order by q.event_id, q.run
                         limit most) n
                window so_far as (order by n.event_id, n.run rows unbounded preceding)) row_of
          where row_of.is_next),
       counted as (
         select b.*, row_number() over so_far as ordinal,
                sum(b.bytes) over so_far
                + (select sum(q.bytes) from {schema}.queue q where q.event_id = any(heads)) as total
           from behind b
         window so_far as (order by b.nth, b.event_id rows unbounded preceding)),
       held as materialized (
         select q.event_id, q.topic, q.run, q.run_at, q.attempts, q.crashes, q.lane_id, q.place, counted.nth
           from counted
           join {schema}.queue q on q.event_id = counted.event_id and q.run = counted.run
          where q.event_id = any(array(select event_id from counted)) and counted.ordinal <= most and counted.total <= bytes_max and q.parked = 'waiting'
            for update of q skip locked),
       c as (
         select h.*, row_number() over (partition by h.lane_id order by h.nth) as place_held from held h)
  select c.event_id, c.topic, c.run, c.attempts, c.crashes,
         (date_part('epoch', c.run_at) * 1000000)::bigint as run_at,
         ${CLAIMED_COLUMNS},
         c.place,${LANE_COLUMNS}
    from c
   cross join lateral (select * from {schema}.events where id = c.event_id limit 1) e${joinReplay('c')}
    join {schema}.lanes l on l.lane_id = c.lane_id
   where c.place_held = c.nth
   order by c.nth, c.event_id;
end
$claim_behind$;`

// $1 worker  $2 slot  $3 heads  $4 limit  $5 bytes
const CLAIM = `
  select * from {schema}.claim_behind($1, $2, $3, $4, $5)`

/** In the transaction that holds the heads. In the order in which they may run. */
export async function claimBehind(
  connection: Connection,
  { workerId, slot }: WorkerSlot,
  heads: readonly ClaimedEvent[],
  limit: number,
): Promise<readonly ClaimedEvent[]> {
  const ids = plainArray(heads.map(({ eventId }) => eventId))
  const { rows } = await connection.query(CLAIM, [workerId, slot, ids, limit, CLAIM_BYTES_MAX])
  return rows.map(asClaimedEvent).map((event) => ({
    ...event,
    lane: event.lane && { ...event.lane, isBehind: true },
  }))
}
