/**
 * The tables of the inbox, part of migration 1. What they are for is said in the file of the same name for
 * PostgreSQL.
 *
 * Times are milliseconds since 1970. Text that a sender chose may hold a NUL, which libsql cuts a
 * text at when it reads one, so such columns are read through a cast to blob.
 *
 * @module
 */

export const INBOX_TABLES = `
create table {prefix}meta (
  name text not null primary key,
  value text not null
) strict, without rowid;
insert into {prefix}meta (name, value) values ('epoch', lower(hex(randomblob(16))));
insert into {prefix}meta (name, value) values ('lease_token', '0');
-- The last run of the pruner; to begin with, when the tables were made.
insert into {prefix}meta (name, value)
values ('prune', json_object('atMs', cast(unixepoch('subsec') * 1000 as integer), 'usualEvents', 0, 'usualKeys', 0));

create table {prefix}keys (
  hash blob not null primary key,
  event_id text not null,
  fingerprint blob not null
) strict, without rowid;
create index {prefix}keys_event_id on {prefix}keys (event_id);

-- version and sequence are texts that sort as what they stand for, byte by byte: src/model/order-text.ts.
create table {prefix}events (
  id text not null primary key,
  source text not null,
  event_key blob,
  type text not null,
  topic integer not null,
  key_hash blob not null,
  body blob not null,
  headers text not null,
  received_at integer not null,
  occurred_at integer,
  version text,
  sequence text,
  verified_by text not null,
  request_id text,
  erased_at integer
) strict;
-- Without the source: an operator who was given a key may not know whose it is.
create index {prefix}events_by_key on {prefix}events (event_key, id);
create index {prefix}events_by_request on {prefix}events (request_id) where request_id is not null;

-- The request that events are parts of, kept once for all of them.
create table {prefix}requests (
  id text not null primary key,
  body blob not null
) strict;

-- lane_id to wait_until: where an event stands that has an order, once a worker has sorted it (lane-tables.ts).
create table {prefix}queue (
  event_id text not null primary key,
  topic integer not null,
  run_at integer not null,
  run integer not null default 0,
  attempts integer not null default 0,
  crashes integer not null default 0,
  leasable integer not null default 0,
  lease_token integer,
  lease_until integer,
  lease_worker text,
  parked text check (parked in ('waiting', 'unhandled', 'conflict', 'quarantined')),
  parked_reason text,
  lane_id text,
  number integer,
  place text,
  policy text check (policy in ('block', 'pass', 'run', 'dead')),
  wait_ms integer,
  wait_until integer
) strict, without rowid;
create index {prefix}queue_fresh on {prefix}queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and leasable = 0 and lane_id is null;
create index {prefix}queue_head on {prefix}queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and leasable = 0 and lane_id is not null;
create index {prefix}queue_again on {prefix}queue (topic, run_at, event_id)
 where parked is null and attempts > 0 and crashes = 0 and leasable = 0;
create index {prefix}queue_suspect on {prefix}queue (run_at, event_id)
 where parked is null and crashes > 0 and leasable = 0;
create index {prefix}queue_leasable on {prefix}queue (topic, run_at, event_id)
 where parked is null and leasable = 1 and lease_token is null;
-- When the next retry of any topic is due.
create index {prefix}queue_later on {prefix}queue (run_at)
 where parked is null and attempts > 0 and lease_token is null;
create index {prefix}queue_leased on {prefix}queue (lease_worker)
 where lease_token is not null;
create index {prefix}queue_unhandled on {prefix}queue (topic)
 where parked = 'unhandled';
-- For operators: the parked of one state, newest first.
create index {prefix}queue_parked on {prefix}queue (parked, event_id)
 where parked is not null;

-- lane_id, place: which version of its lane it was, where lanes go by versions; for a replay (sql/event-standing.ts).
create table {prefix}outcomes (
  event_id text not null,
  run integer not null,
  state text not null check (state in ('done', 'dead', 'skipped', 'discarded')),
  attempts integer not null,
  started_at integer,
  duration_ms integer not null,
  reason text,
  result text,
  settled_at integer not null,
  lane_id text,
  place text,
  primary key (event_id, run)
) strict, without rowid;
create index {prefix}outcomes_dead on {prefix}outcomes (settled_at) where state = 'dead';
-- For operators: what ended without success, of one state, newest first.
create index {prefix}outcomes_not_done on {prefix}outcomes (state, event_id) where state <> 'done';

-- Those that failed: which handler, when, where, and for what reason.
create table {prefix}attempts (
  number integer primary key,
  event_id text not null,
  run integer not null,
  attempt integer not null,
  reason text not null,
  message text not null,
  handler text,
  stack text,
  cause text,
  started_at integer,
  duration_ms integer not null,
  failed_at integer not null
) strict;
create index {prefix}attempts_event_id on {prefix}attempts (event_id);

create table {prefix}deliveries (
  event_id text not null,
  minute integer not null,
  outcome text not null,
  count integer not null,
  primary key (event_id, minute, outcome)
) strict, without rowid;

-- Which secret has verified how many deliveries, by its label. The secret itself is never here.
create table {prefix}secret_uses (
  source text not null,
  label text not null,
  deliveries integer not null,
  last_used_at integer,
  until integer,
  primary key (source, label)
) strict, without rowid;

create table {prefix}workers (
  worker_id text not null,
  slot integer not null,
  hostname text not null,
  pid integer not null,
  beat_at integer not null,
  running text not null default '[]',
  running_since integer,
  handles text not null default '[]',
  primary key (worker_id, slot)
) strict, without rowid;

create table {prefix}steps (
  event_id text not null,
  run integer not null,
  handler text not null,
  position integer not null,
  kind text not null check (kind in ('tx', 'call', 'send')),
  name text not null,
  state text not null check (state in ('started', 'refused', 'done')),
  starts integer not null default 1,
  started_at integer not null,
  result text,
  primary key (event_id, run, handler, position)
) strict, without rowid;`
