/**
 * Lanes of messages: one message of a lane is leased at a time, and those behind it wait without a time.
 *
 * A message is written as if it had no lane, since a transaction of the user's must not wait for a relay. The claim
 * that meets it looks whether another of its lane is in front, and then takes away its `send_at` (`claim-messages.ts`):
 * from then on no claim meets it. When the one in front is settled, the next gets its time back, here.
 *
 * Both happen under a lock on the lane, which ends with the transaction: without it a claim could put a message behind
 * one that is being settled, and nothing would wake it. A claim does not wait for the lock, it leaves the lane alone.
 *
 * @module
 */

export const CREATE_LOCK_MESSAGE_LANES = `
create or replace function {schema}.lock_message_lanes(lanes uuid[])
returns void
language sql as $lock_message_lanes$
  -- In one order, so that two that lock several do not wait for each other.
  select pg_advisory_xact_lock(lane.number)
    from (select distinct hashtextextended(id::text, 0) as number from unnest(lanes) as l (id) order by 1) lane
$lock_message_lanes$;`

// Under the lock, and as a statement of its own after what was changed, so that it sees what was written meanwhile.
export const CREATE_FREE_MESSAGE_LANES = `
create or replace function {schema}.free_message_lanes(lanes uuid[])
returns void
language plpgsql set enable_seqscan = off set jit = off as $free_message_lanes$
begin
  update {schema}.message_queue q
     set send_at = clock_timestamp()
    from (select (select h.message_id
                    from {schema}.message_queue h
                   where h.lane_id = l.id
                   order by h.lane_position
                   limit 1) as message_id
            from unnest(lanes) as l (id)
           where not exists (select from {schema}.message_lane_blocks b where b.lane_id = l.id)
             and not exists (select from {schema}.message_queue h
                              where h.lane_id = l.id and h.lease_token is not null)) head
   where q.message_id = head.message_id and q.send_at is null;
end
$free_message_lanes$;`
