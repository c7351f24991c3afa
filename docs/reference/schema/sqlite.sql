begin immediate;

create table if not exists hookonce_migrations (
  version integer primary key,
  applied_at integer not null
) strict;

-- Tables, version 1

create table hookonce_meta (
  name text not null primary key,
  value text not null
) strict, without rowid;
insert into hookonce_meta (name, value) values ('epoch', lower(hex(randomblob(16))));
insert into hookonce_meta (name, value) values ('lease_token', '0');
-- The last run of the pruner; to begin with, when the tables were made.
insert into hookonce_meta (name, value)
values ('prune', json_object('atMs', cast(unixepoch('subsec') * 1000 as integer), 'usualEvents', 0, 'usualKeys', 0));

create table hookonce_keys (
  hash blob not null primary key,
  event_id text not null,
  fingerprint blob not null
) strict, without rowid;
create index hookonce_keys_event_id on hookonce_keys (event_id);

-- version and sequence are texts that sort as what they stand for, byte by byte: src/model/order-text.ts.
create table hookonce_events (
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
create index hookonce_events_by_key on hookonce_events (event_key, id);
create index hookonce_events_by_request on hookonce_events (request_id) where request_id is not null;

-- The request that events are parts of, kept once for all of them.
create table hookonce_requests (
  id text not null primary key,
  body blob not null
) strict;

-- lane_id to wait_until: where an event stands that has an order, once a worker has sorted it (lane-tables.ts).
create table hookonce_queue (
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
create index hookonce_queue_fresh on hookonce_queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and leasable = 0 and lane_id is null;
create index hookonce_queue_head on hookonce_queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and leasable = 0 and lane_id is not null;
create index hookonce_queue_again on hookonce_queue (topic, run_at, event_id)
 where parked is null and attempts > 0 and crashes = 0 and leasable = 0;
create index hookonce_queue_suspect on hookonce_queue (run_at, event_id)
 where parked is null and crashes > 0 and leasable = 0;
create index hookonce_queue_leasable on hookonce_queue (topic, run_at, event_id)
 where parked is null and leasable = 1 and lease_token is null;
-- When the next retry of any topic is due.
create index hookonce_queue_later on hookonce_queue (run_at)
 where parked is null and attempts > 0 and lease_token is null;
create index hookonce_queue_leased on hookonce_queue (lease_worker)
 where lease_token is not null;
create index hookonce_queue_unhandled on hookonce_queue (topic)
 where parked = 'unhandled';
-- For operators: the parked of one state, newest first.
create index hookonce_queue_parked on hookonce_queue (parked, event_id)
 where parked is not null;

-- lane_id, place: which version of its lane it was, where lanes go by versions; for a replay (sql/event-standing.ts).
create table hookonce_outcomes (
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
create index hookonce_outcomes_dead on hookonce_outcomes (settled_at) where state = 'dead';
-- For operators: what ended without success, of one state, newest first.
create index hookonce_outcomes_not_done on hookonce_outcomes (state, event_id) where state <> 'done';

-- Those that failed: which handler, when, where, and for what reason.
create table hookonce_attempts (
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
create index hookonce_attempts_event_id on hookonce_attempts (event_id);

create table hookonce_deliveries (
  event_id text not null,
  minute integer not null,
  outcome text not null,
  count integer not null,
  primary key (event_id, minute, outcome)
) strict, without rowid;

-- Which secret has verified how many deliveries, by its label. The secret itself is never here.
create table hookonce_secret_uses (
  source text not null,
  label text not null,
  deliveries integer not null,
  last_used_at integer,
  until integer,
  primary key (source, label)
) strict, without rowid;

create table hookonce_workers (
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

create table hookonce_steps (
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
) strict, without rowid;

-- next: the number that comes next in a sequence.  applied: the latest version that was applied.
-- applied_by: the event that had it, and was applied last.
-- paused_at: since when an operator holds it; paused_reason and paused_actor: why, and who.
-- used_at: when something last changed in it, give or take an hour.
create table hookonce_lanes (
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
create index hookonce_lanes_by_key on hookonce_lanes (source, key);
-- Every worker reads what is paused once a second. In this order the other index would be read to its end for it.
create index hookonce_lanes_paused on hookonce_lanes (source, key)
 where paused_at is not null;

create table hookonce_lane_facts (
  lane_id text not null,
  type text not null,
  event_id text not null,
  done_at integer not null,
  primary key (lane_id, type)
) strict, without rowid;

create table hookonce_lane_blocks (
  lane_id text not null,
  event_id text not null,
  run integer not null,
  primary key (lane_id, event_id, run)
) strict, without rowid;

create table hookonce_lane_news (
  id integer primary key,
  lane_id text not null,
  event_id text not null,
  is_blocked integer not null
) strict;

-- What is not parked in a lane. A clause of a claim or a mend says the same, word for word.
create index hookonce_queue_active on hookonce_queue (lane_id)
 where lane_id is not null and parked is not 'waiting';
create index hookonce_queue_waiting on hookonce_queue (lane_id, event_id)
 where parked = 'waiting';
create index hookonce_queue_numbers on hookonce_queue (lane_id, number, event_id)
 where parked = 'waiting' and number is not null;
create index hookonce_queue_places on hookonce_queue (lane_id, place, event_id)
 where parked = 'waiting' and place is not null;
create index hookonce_queue_deadlines on hookonce_queue (wait_until)
 where parked = 'waiting' and wait_until is not null;

insert into hookonce_meta (name, value) values ('message_lease_token', '0');

create table hookonce_messages (
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
create index hookonce_messages_event_id on hookonce_messages (event_id) where event_id is not null;

create table hookonce_message_queue (
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
create index hookonce_message_queue_due on hookonce_message_queue (destination, send_at, message_id);
create index hookonce_message_queue_lanes on hookonce_message_queue (lane_id, lane_position) where lane_id is not null;
create index hookonce_message_queue_leased_lanes on hookonce_message_queue (lane_id)
 where lane_id is not null and lease_token is not null;
insert into hookonce_meta (name, value) values ('message_lane_position', '0');

create table hookonce_message_lane_blocks (
  message_id text not null primary key,
  lane_id text not null
) strict, without rowid;
create index hookonce_message_lane_blocks_lane_id on hookonce_message_lane_blocks (lane_id);

create table hookonce_message_outcomes (
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
create index hookonce_message_outcomes_waiting on hookonce_message_outcomes (state, settled_at)
 where state in ('dead', 'unknown');
create index hookonce_message_outcomes_stopped on hookonce_message_outcomes (message_id)
 where state in ('dead', 'unknown');

create table hookonce_message_attempts (
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
create index hookonce_message_attempts_message_id on hookonce_message_attempts (message_id);

-- The runs of an event after its first. body: what the handlers get in place of the event's own.
create table hookonce_runs (
  event_id text not null,
  run integer not null,
  reason text,
  actor text,
  ordered_at integer not null,
  fresh_keys integer not null,
  body blob,
  primary key (event_id, run)
) strict, without rowid;

create table hookonce_pauses (
  kind text not null check (kind in ('source', 'handler', 'destination')),
  name text not null,
  paused_reason text,
  paused_actor text,
  paused_at integer not null,
  primary key (kind, name)
) strict, without rowid;

-- A row for every change, written in the transaction that makes it. token: unique, so that a call that is made
-- twice makes one change. outcome: JSON.
create table hookonce_audit (
  id integer primary key,
  acted_at integer not null,
  actor text,
  action text not null,
  subject_kind text not null,
  subject_id text not null,
  reason text,
  token text unique,
  outcome text not null
) strict;
create index hookonce_audit_subject on hookonce_audit (subject_kind, subject_id, id);

create table hookonce_bulks (
  id text not null primary key,
  action text not null,
  filter text not null,
  reason text,
  actor text,
  terms text,
  state text not null check (state in ('planning', 'planned', 'aborted', 'pruned')),
  created_at integer not null
) strict, without rowid;

create table hookonce_bulk_events (
  bulk_id text not null,
  event_id text not null,
  outcome text,
  acted_at integer,
  primary key (bulk_id, event_id)
) strict, without rowid;
create index hookonce_bulk_events_left on hookonce_bulk_events (bulk_id, event_id)
 where outcome is null;

-- hash: SHA-256 of the token, which itself is kept nowhere.
create table hookonce_tokens (
  name text not null primary key,
  role text not null,
  hash text not null unique,
  created_at integer not null,
  expires_at integer
) strict, without rowid;

insert into hookonce_migrations (version, applied_at)
values (1, cast(unixepoch('subsec') * 1000 as integer));

commit;
