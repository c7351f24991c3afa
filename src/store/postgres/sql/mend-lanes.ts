/**
 * Makes the next event of each lane ready, where none is.
 *
 * One operation, that may be called once too often: whatever changes a lane calls it in its own transaction. The row
 * of the lane is its lock, and what is in the lane is read by a later statement, which sees what the last holder of
 * the lock has committed. Measured without the lock: an event that was parked while the one before it ended stayed
 * parked for good.
 *
 * Row locks, and no advisory ones: those of a group of 200 lanes take 200 places in the server's shared lock table,
 * which all sessions share, and two lanes may have one number.
 *
 * Whatever is read of the queue is named by its lane or its events beside each join, and what is active by a subquery
 * that is no join. From the joins alone the plan may begin with the queue, where it seems to be empty: with 2,000 dead
 * rows that cannot be vacuumed, to sort and settle one event read 48,000 entries of indexes, and this way some ten.
 *
 * Locks are taken in one order everywhere, lanes of `after` last: which of those an event frees is known when the
 * others of its group are locked.
 *
 * @module
 */

import type { FreedLane } from '../../../model/outcome.ts'
import { plainArray, textArray } from '../binary-array.ts'
import type { Connection, TextRow } from '../connection.ts'

// A group's handlers may wait 50 ms for a lock; these are held for as long as a COMMIT takes.
const LOCK_TIMEOUT = `set lock_timeout = '10s'`

export const CREATE_LOCK_LANES = `
create or replace function {schema}.lock_lanes(wanted uuid[])
returns void language plpgsql ${LOCK_TIMEOUT} set enable_seqscan = off set jit = off as $lock_lanes$
begin
  perform 1
     from {schema}.lanes l
    where l.lane_id = any(wanted)
    order by l.mode = 'after', l.lane_id
      for update;
end
$lock_lanes$;`

/** Where use is written down again that was written down before: at each use it would be one more write for each event. */
const LONG_UNUSED = `clock_timestamp() - interval '1 hour'`

/**
 * What to do about a lane that is there: nothing but to lock it, or a pruner could remove it before something of it is
 * written.
 */
export const HOLD_LANE = `on conflict (lane_id) do update set used_at = clock_timestamp()
        where lanes.used_at < ${LONG_UNUSED}`

// Counts as long as the event is dead, or is queued again and not sorted yet: it comes before those behind it.
const STILL_BLOCKS = `
         (exists (select from {schema}.outcomes o
                   where o.event_id = b.event_id and o.run = b.run and o.state = 'dead')
          or exists (select from {schema}.queue u
                      where u.event_id = b.event_id and u.run = b.run and u.lane_id is null))`

const NONE_ACTIVE = `
            (select true
               from {schema}.queue a
              where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
              limit 1) is null`

const ACTIVE_RUN_AT = `
            (select a.run_at
               from {schema}.queue a
              where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
              limit 1)`

// What was never tried is due at once; a retry keeps its time.
const MAKE_READY = `parked = null, parked_reason = null, wait_until = null,
         run_at = case when q.attempts = 0 then clock_timestamp()
                       else greatest(q.run_at, clock_timestamp()) end`

export const CREATE_MEND_LANES = `
create or replace function {schema}.mend_lanes(wanted uuid[])
returns void language plpgsql ${LOCK_TIMEOUT} set enable_seqscan = off set jit = off as $mend_lanes$
#variable_conflict use_column
begin
  perform {schema}.lock_lanes(wanted);

  update {schema}.lanes l
     set used_at = clock_timestamp()
   where l.lane_id = any(wanted) and l.used_at < ${LONG_UNUSED};

  with freed as (
         delete from {schema}.lane_blocks b
          where b.lane_id = any(wanted) and not ${STILL_BLOCKS}
         returning b.lane_id, b.event_id)
  insert into {schema}.lane_news (lane_id, event_id, is_blocked)
  select freed.lane_id, freed.event_id, false from freed;

  -- paused: every event waits but one that a worker has in hand: leased, or among what the worker says it runs.
  if exists (select from {schema}.lanes l where l.lane_id = any(wanted) and l.paused_at is not null) then
    with held as materialized (
           select a.event_id, a.run
             from {schema}.lanes l
             join {schema}.queue a on a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
            where l.lane_id = any(wanted) and a.lane_id = any(wanted) and l.paused_at is not null
              and a.parked is null and a.lease_token is null
              and not exists (
                  select
                    from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                   where r.event_id = a.event_id and r.attempt = a.attempts + 1)
              for update of a skip locked)
    update {schema}.queue q
       set parked = 'waiting'
      from held
     where q.event_id = any(array(select event_id from held))
     and q.event_id = held.event_id and q.run = held.run;
  end if;

  -- latest: one that failed, and is not due yet, lets those go first that are due before it.
  with late as materialized (
         select a.event_id, a.run
           from {schema}.queue a
          where a.lane_id = any(array(
                    select l.lane_id
                      from {schema}.lanes l
                     where l.lane_id = any(wanted) and l.mode = 'latest' and l.paused_at is null
                       and exists (select from {schema}.queue w
                                    where w.lane_id = l.lane_id and w.parked = 'waiting' and w.run_at < ${ACTIVE_RUN_AT})))
            and a.lane_id is not null and a.parked is distinct from 'waiting'
            and a.parked is null and a.lease_token is null and a.run_at > clock_timestamp()
            for update of a skip locked)
  update {schema}.queue q
     set parked = 'waiting'
    from late
   where q.event_id = any(array(select event_id from late))
     and q.event_id = late.event_id and q.run = late.run;

  with free as materialized (
         select l.lane_id, l.mode, l.next
           from {schema}.lanes l
          where l.lane_id = any(wanted) and l.paused_at is null and l.mode <> 'after'
            and ${NONE_ACTIVE}),
       chosen as materialized (
         select first.event_id, first.run
           from free
          cross join lateral (select q.event_id, q.run
                                from {schema}.queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting'
                               order by q.event_id, q.run
                               limit 1) first
          where free.mode = 'fifo'
            and not exists (select from {schema}.lane_blocks b
                             where b.lane_id = free.lane_id and (b.event_id, b.run) < (first.event_id, first.run))
          union all
         select lowest.event_id, lowest.run
           from free
          cross join lateral (select q.event_id, q.run
                                from {schema}.queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting' and q.number is not null
                                 and q.number <= free.next
                               order by q.number, q.event_id
                               limit 1) lowest
          where free.mode = 'sequence'
          union all
         select coalesce(newest.event_id, soonest.event_id), coalesce(newest.run, soonest.run)
           from free
          cross join lateral (select q.event_id, q.run
                                from {schema}.queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting'
                               order by q.run_at, q.event_id
                               limit 1) soonest
           left join lateral (select q.event_id, q.run
                                from {schema}.queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting' and q.place is not null
                                 and q.run_at <= clock_timestamp()
                               order by q.place desc, q.event_id desc
                               limit 1) newest on true
          where free.mode = 'latest')
  update {schema}.queue q
     set ${MAKE_READY}
    from chosen
   where q.event_id = any(array(select event_id from chosen))
     and q.event_id = chosen.event_id and q.run = chosen.run;

  -- after: each for itself.
  update {schema}.queue q
     set ${MAKE_READY}
    from {schema}.lanes l
    join {schema}.lane_facts f on f.lane_id = l.lane_id
   where l.lane_id = any(wanted) and l.mode = 'after' and l.paused_at is null
     and q.lane_id = any(wanted) and q.lane_id = l.lane_id and q.parked = 'waiting' and q.place = f.type;

  -- From here on they wait for what is missing, and for so long.
  with missing as materialized (
         select lowest.event_id, lowest.run
           from {schema}.lanes l
          cross join lateral (select q.event_id, q.run, q.wait_until
                                from {schema}.queue q
                               where q.lane_id = l.lane_id and q.parked = 'waiting' and q.number is not null
                               order by q.number, q.event_id
                               limit 1) lowest
          where l.lane_id = any(wanted) and l.mode = 'sequence' and l.paused_at is null
            and lowest.wait_until is null and ${NONE_ACTIVE}
          union all
         select q.event_id, q.run
           from {schema}.lanes l
           join {schema}.queue q on q.lane_id = l.lane_id and q.parked = 'waiting'
          where l.lane_id = any(wanted) and q.lane_id = any(wanted) and l.mode = 'after' and l.paused_at is null
            and q.wait_until is null)
  update {schema}.queue q
     set wait_until = clock_timestamp() + q.wait_ms * interval '1 millisecond'
    from missing
   where q.event_id = any(array(select event_id from missing))
     and q.event_id = missing.event_id and q.run = missing.run;
end
$mend_lanes$;`

export const CREATE_LEAVE_LANES = `
-- Events have come to rest: what that means for their lanes.
create or replace function {schema}.leave_lanes(
  events uuid[], runs integer[], states text[], left_lanes uuid[], numbers bigint[], places text[], policies text[])
returns void language plpgsql ${LOCK_TIMEOUT} set enable_seqscan = off set jit = off as $leave_lanes$
#variable_conflict use_column
declare
  in_order uuid[] := array(select l.lane_id from {schema}.lanes l where l.lane_id = any(left_lanes) and l.mode <> 'after');
begin
  if cardinality(in_order) = 0 then return; end if;
  perform {schema}.lock_lanes(in_order);

  -- A number is taken when it was applied, or needed nothing. A dead one is missing.
  update {schema}.lanes l
     set next = greatest(l.next, s.following)
    from (select s.lane_id, max(s.number) + 1 as following
            from unnest(states, left_lanes, numbers) as s (state, lane_id, number)
           where s.state in ('done', 'skipped') and s.number is not null
           group by s.lane_id) s
   where l.lane_id = s.lane_id and l.mode = 'sequence';

  update {schema}.lanes l
     set applied = s.version, applied_by = s.event_id
    from (select distinct on (s.lane_id) s.lane_id, s.place collate "C" as version, s.event_id
            from unnest(events, states, left_lanes, places) as s (event_id, state, lane_id, place)
           where s.state = 'done' and s.place is not null
           order by s.lane_id, s.place collate "C" desc, s.event_id desc) s
   where l.lane_id = s.lane_id and l.mode = 'latest'
     and (l.applied is null or left(l.applied, 1) <> left(s.version, 1) or l.applied <= s.version);

  with blocked as (
         insert into {schema}.lane_blocks (lane_id, event_id, run)
         select s.lane_id, s.event_id, s.run
           from unnest(events, runs, states, left_lanes, policies) as s (event_id, run, state, lane_id, policy)
          where s.state = 'dead' and s.policy = 'block'
             on conflict do nothing
         returning lane_id, event_id)
  insert into {schema}.lane_news (lane_id, event_id, is_blocked)
  select blocked.lane_id, blocked.event_id, true from blocked;

  perform {schema}.mend_lanes(in_order);
end
$leave_lanes$;`

export const CREATE_FREE_LANES = `
-- An event of a type was done that others may wait for.
create or replace function {schema}.free_lanes(
  freed uuid[], sources text[], keys text[], types text[], events uuid[])
returns void language plpgsql ${LOCK_TIMEOUT} set enable_seqscan = off set jit = off as $free_lanes$
begin
  -- Whether a lane that is new is paused is found out when an event comes into it (sort-events.ts): here a pause of
  -- another lane with its text may be about to be committed.
  insert into {schema}.lanes (lane_id, source, key, mode)
  select distinct on (s.lane_id) s.lane_id, s.source, s.key, 'after'
    from unnest(freed, sources, keys) as s (lane_id, source, key)
   order by s.lane_id
      ${HOLD_LANE};
  perform {schema}.lock_lanes(freed);
  insert into {schema}.lane_facts (lane_id, type, event_id, done_at)
  select s.lane_id, s.type, s.event_id, clock_timestamp()
    from unnest(freed, types, events) as s (lane_id, type, event_id)
      on conflict do nothing;
  perform {schema}.mend_lanes(freed);
end
$free_lanes$;`

// $1 lanes
const LOCK_LANES = `
  select {schema}.lock_lanes($1)`

// $1 lanes
const MEND_LANES = `
  select {schema}.mend_lanes($1)`

// $1 events  $2 runs  $3 states  $4 lanes  $5 numbers  $6 places  $7 policies
const LEAVE_LANES = `
  select {schema}.leave_lanes($1, $2, $3, $4, $5, $6, $7)`

// $1 lanes  $2 sources  $3 keys  $4 types  $5 events
const FREE_LANES = `
  select {schema}.free_lanes($1, $2, $3, $4, $5)`

/** All that a transaction will change, in one order, before it changes the first. */
export async function lockLanes(connection: Connection, lanes: readonly string[]): Promise<void> {
  if (lanes.length > 0) await connection.query(LOCK_LANES, [plainArray(lanes)])
}

export async function mendLanes(connection: Connection, lanes: readonly string[]): Promise<void> {
  if (lanes.length > 0) await connection.query(MEND_LANES, [plainArray(lanes)])
}

/** What is known of an event that has left its lane: columns of the queue, and the state it is in now. */
export interface LeftLane {
  readonly state: string
  readonly row: TextRow
}

/** Those without a lane are left out. */
export async function leaveLanes(connection: Connection, left: readonly LeftLane[]): Promise<void> {
  const inLanes = left.filter(({ row }) => row['lane_id'] != null)
  if (inLanes.length === 0) return
  const texts = (name: string) => textArray(inLanes.map(({ row }) => row[name] ?? null))
  const plains = (name: string) => plainArray(inLanes.map(({ row }) => row[name] ?? 'null'))
  await connection.query(LEAVE_LANES, [
    plains('event_id'),
    plains('run'),
    plainArray(inLanes.map(({ state }) => state)),
    plains('lane_id'),
    plains('number'),
    texts('place'),
    texts('policy'),
  ])
}

export async function freeLanes(
  connection: Connection,
  freed: readonly (FreedLane & { readonly eventId: string })[],
): Promise<void> {
  if (freed.length === 0) return
  await connection.query(FREE_LANES, [
    plainArray(freed.map(({ id }) => id)),
    textArray(freed.map(({ source }) => source)),
    textArray(freed.map(({ key }) => key)),
    textArray(freed.map(({ type }) => type)),
    plainArray(freed.map(({ eventId }) => eventId)),
  ])
}
