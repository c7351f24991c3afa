/**
 * The tables of the outbox, part of migration 1. What they are for is said in the file of the same name for
 * PostgreSQL.
 *
 * @module
 */

export const OUTBOX_TABLES = `
insert into {prefix}meta (name, value) values ('message_lease_token', '0');

create table {prefix}messages (
  id text not null primary key,
  destination text not null,
  key text not null,
  event_id text,
  content_type text not null,
  headers text not null,
  body blob not null,
  created_at integer not null,
  lane_key text,
  lane_id text,
  lane_position integer,
  -- The key first: an operator who was given one may not know where it went.
  unique (key, destination)
) strict;
create index {prefix}messages_event_id on {prefix}messages (event_id) where event_id is not null;

create table {prefix}message_queue (
  message_id text not null primary key,
  destination text not null,
  send_at integer,
  attempts integer not null default 0,
  takeovers integer not null default 0,
  lease_token integer,
  claimed_at integer,
  uncertain_since integer,
  answer text,
  same_answers integer not null default 0,
  lane_id text,
  lane_position integer
) strict, without rowid;
create index {prefix}message_queue_due on {prefix}message_queue (destination, send_at, message_id);
create index {prefix}message_queue_lanes on {prefix}message_queue (lane_id, lane_position) where lane_id is not null;
create index {prefix}message_queue_leased_lanes on {prefix}message_queue (lane_id)
 where lane_id is not null and lease_token is not null;
insert into {prefix}meta (name, value) values ('message_lane_position', '0');

create table {prefix}message_lane_blocks (
  message_id text not null primary key,
  lane_id text not null
) strict, without rowid;
create index {prefix}message_lane_blocks_lane_id on {prefix}message_lane_blocks (lane_id);

create table {prefix}message_outcomes (
  message_id text not null primary key,
  state text not null check (state in ('sent', 'dead', 'unknown', 'discarded')),
  attempts integer not null,
  reason text,
  uncertain_since integer,
  status integer,
  response_head text,
  response_body blob,
  settled_at integer not null
) strict, without rowid;
create index {prefix}message_outcomes_waiting on {prefix}message_outcomes (state, settled_at)
 where state in ('dead', 'unknown');
create index {prefix}message_outcomes_stopped on {prefix}message_outcomes (message_id)
 where state in ('dead', 'unknown');

create table {prefix}message_attempts (
  number integer primary key,
  message_id text not null,
  attempt integer not null,
  reason text not null,
  message text not null,
  status integer,
  response_head text,
  response_body blob,
  duration_ms integer not null,
  failed_at integer not null
) strict;
create index {prefix}message_attempts_message_id on {prefix}message_attempts (message_id);`
