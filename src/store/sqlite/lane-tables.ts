/**
 * The tables of lanes, part of migration 1. What they are for is said in the file of the same name for PostgreSQL.
 *
 * @module
 */

export const LANE_TABLES = `
-- next: the number that comes next in a sequence.  applied: the latest version that was applied.
-- applied_by: the event that had it, and was applied last.
-- paused_at: since when an operator holds it; paused_reason and paused_actor: why, and who.
-- used_at: when something last changed in it, give or take an hour.
create table {prefix}lanes (
  lane_id text not null primary key,
  source text not null,
  key text not null,
  mode text not null check (mode in ('fifo', 'sequence', 'latest', 'after')),
  next integer,
  applied text,
  applied_by text,
  paused_at integer,
  paused_reason text,
  paused_actor text,
  used_at integer not null
) strict, without rowid;
create index {prefix}lanes_by_key on {prefix}lanes (source, key);
-- Every worker reads what is paused once a second. In this order the other index would be read to its end for it.
create index {prefix}lanes_paused on {prefix}lanes (source, key)
 where paused_at is not null;

create table {prefix}lane_facts (
  lane_id text not null,
  type text not null,
  event_id text not null,
  done_at integer not null,
  primary key (lane_id, type)
) strict, without rowid;

create table {prefix}lane_blocks (
  lane_id text not null,
  event_id text not null,
  run integer not null,
  primary key (lane_id, event_id, run)
) strict, without rowid;

create table {prefix}lane_news (
  id integer primary key,
  lane_id text not null,
  event_id text not null,
  is_blocked integer not null
) strict;

-- What is not parked in a lane. A clause of a claim or a mend says the same, word for word.
create index {prefix}queue_active on {prefix}queue (lane_id)
 where lane_id is not null and parked is not 'waiting';
create index {prefix}queue_waiting on {prefix}queue (lane_id, event_id)
 where parked = 'waiting';
create index {prefix}queue_numbers on {prefix}queue (lane_id, number, event_id)
 where parked = 'waiting' and number is not null;
create index {prefix}queue_places on {prefix}queue (lane_id, place, event_id)
 where parked = 'waiting' and place is not null;
create index {prefix}queue_deadlines on {prefix}queue (wait_until)
 where parked = 'waiting' and wait_until is not null;`
