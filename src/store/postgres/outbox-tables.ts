/**
 * The tables of the outbox, part of migration 1.
 *
 * As with events, what is large is written once and what is churned is small: `messages` keeps what is
 * sent and the key that makes it one message, `message_queue` has a row for each that is still to be
 * sent, `message_outcomes` one for each that is not.
 *
 * In the queue `send_at` is when a message is due. For one that is leased it is when the lease ends, so
 * that a message whose relay has died is due again by itself, and one index serves both. For one that waits in its
 * lane it is null: no claim walks over it, however many there are. `message_lane_blocks` has a row for each message
 * that is dead or unknown and holds up its lane. `attempts` counts all of a message's that were begun, and `takeovers`
 * those of them that ended with their relay.
 *
 * @module
 */

export const OUTBOX_TABLES = `
create table {schema}.messages (
  id           uuid        primary key,
  destination  text        not null,
  key          text        not null,
  event_id     uuid,
  content_type text        not null,
  headers      text        not null,
  body         bytea       not null,
  created_at   timestamptz not null,
  lane_key     text,
  lane_id      uuid,
  lane_position bigint,
  -- The key first: an operator who was given one may not know where it went.
  unique (key, destination)
);
create index messages_event_id on {schema}.messages (event_id) where event_id is not null;

create table {schema}.message_queue (
  message_id      uuid        primary key,
  destination     text        not null,
  send_at         timestamptz,
  attempts        integer     not null default 0,
  takeovers       integer     not null default 0,
  lease_token     bigint,
  claimed_at      timestamptz,
  uncertain_since timestamptz,
  answer          text,
  same_answers    integer     not null default 0,
  lane_id         uuid,
  lane_position   bigint
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000
);
create index message_queue_due on {schema}.message_queue (destination, send_at, message_id);
create index message_queue_lanes on {schema}.message_queue (lane_id, lane_position) where lane_id is not null;
create index message_queue_leased_lanes on {schema}.message_queue (lane_id)
 where lane_id is not null and lease_token is not null;
create sequence {schema}.message_lease_tokens;
create sequence {schema}.message_lane_positions;

create table {schema}.message_lane_blocks (
  message_id uuid primary key,
  lane_id    uuid not null
);
create index message_lane_blocks_lane_id on {schema}.message_lane_blocks (lane_id);

create table {schema}.message_outcomes (
  message_id      uuid        primary key,
  state           text        not null
                  check (state in ('sent', 'dead', 'unknown', 'discarded')),
  attempts        integer     not null,
  reason          text,
  uncertain_since timestamptz,
  status          integer,
  response_head   text,
  response_body   bytea,
  settled_at      timestamptz not null
);
create index message_outcomes_waiting on {schema}.message_outcomes (state, settled_at)
 where state in ('dead', 'unknown');
create index message_outcomes_stopped on {schema}.message_outcomes (message_id)
 where state in ('dead', 'unknown');

create table {schema}.message_attempts (
  message_id    uuid        not null,
  attempt       integer     not null,
  reason        text        not null,
  message       text        not null,
  status        integer,
  response_head text,
  response_body bytea,
  duration_ms   integer     not null,
  failed_at     timestamptz not null
);
create index message_attempts_message_id on {schema}.message_attempts (message_id);`
