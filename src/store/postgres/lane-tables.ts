/**
 * The tables of lanes, part of migration 1.
 *
 * - A row of `lanes` is also the lane's lock: whatever changes which event of a lane is next has locked it
 *   (`sql/mend-lanes.ts`).
 * - `lane_facts` says which type of event was done in a lane, for those that wait for it.
 * - `lane_blocks` names the dead events that hold up a lane. The event itself is dead like any other: its row here
 *   counts only as long as it is.
 * - `lane_news` is what is to be told of that: a row goes when a worker takes it to tell it.
 *
 * @module
 */

export const LANE_TABLES = `
-- next: the number that comes next in a sequence.  applied: the latest version that was applied.
-- applied_by: the event that had it, and was applied last.
-- paused_at: since when an operator holds it; paused_reason and paused_actor: why, and who.
-- used_at: when something last changed in it, give or take an hour.
create table {schema}.lanes (
  lane_id       uuid        primary key,
  source        text        not null,
  key           text        not null,
  mode          text        not null
                check (mode in ('fifo', 'sequence', 'latest', 'after')),
  next          bigint,
  applied       text        collate "C",
  applied_by    uuid,
  paused_at     timestamptz,
  paused_reason text,
  paused_actor  text,
  used_at       timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index lanes_by_key on {schema}.lanes (source, md5(key));
-- Every worker reads what is paused once a second.
create index lanes_paused on {schema}.lanes (lane_id)
 where paused_at is not null;

create table {schema}.lane_facts (
  lane_id  uuid        not null,
  type     text        not null,
  event_id uuid        not null,
  done_at  timestamptz not null,
  primary key (lane_id, type)
);

create table {schema}.lane_blocks (
  lane_id  uuid    not null,
  event_id uuid    not null,
  run      integer not null,
  primary key (lane_id, event_id, run)
);

create table {schema}.lane_news (
  id         bigint  generated always as identity primary key,
  lane_id    uuid    not null,
  event_id   uuid    not null,
  is_blocked boolean not null
);

-- What is not parked in a lane. A clause of a claim or a mend says the same, word for word.
create index queue_active on {schema}.queue (lane_id)
 where lane_id is not null and parked is distinct from 'waiting';
create index queue_waiting on {schema}.queue (lane_id, event_id, run)
 where parked = 'waiting';
create index queue_numbers on {schema}.queue (lane_id, number, event_id)
 where parked = 'waiting' and number is not null;
create index queue_places on {schema}.queue (lane_id, place, event_id)
 where parked = 'waiting' and place is not null;
create index queue_deadlines on {schema}.queue (wait_until)
 where parked = 'waiting' and wait_until is not null;`
