/**
 * The tables of the inbox, part of migration 1.
 *
 * What is insert-only and what is churned is a decision, see `docs/decisions/`:
 *
 * - `keys` rows are never updated once committed. `insert … on conflict do nothing` waits for any
 *   open transaction that has updated the row it conflicts with, so a handler that touched it would
 *   make every duplicate delivery hang until the handler ends.
 * - `queue` is the only churned table: small rows, deleted on completion. Each of its partial indexes is what one
 *   kind of claim sees (`sql/claim-group.ts`); a parked event is in none of them. They begin with the topic: a claim
 *   takes from the topics whose turn it is, and walks over no other's events.
 * - `events`, `requests`, `outcomes` and `attempts` are partitioned by the id, which begins with its time.
 * - An event of step handlers is `leasable` once a worker has seen it. It is then in none of the indexes that
 *   groups are claimed from: a thousand of them that wait for a slow carrier hold up no other.
 * - Functions are no part of any migration (`functions.ts`). A trigger cannot be made without its function, so there
 *   is one here that lets no transaction commit, until the true one takes its place (`sql/fence-commit.ts`).
 *
 * @module
 */

export const INBOX_TABLES = `
create table {schema}.meta (
  name  text primary key,
  value text not null
);
insert into {schema}.meta (name, value) values ('epoch', gen_random_uuid()::text);
-- The last run of the pruner; to begin with, when the tables were made.
insert into {schema}.meta (name, value)
values ('prune', json_build_object('atMs', (extract(epoch from clock_timestamp()) * 1000)::bigint,
                                   'usualEvents', 0, 'usualKeys', 0)::text);

create table {schema}.keys (
  hash        bytea primary key,
  event_id    uuid  not null,
  fingerprint bytea not null
);
create index keys_event_id on {schema}.keys (event_id);

-- version and sequence are texts that sort as what they stand for, byte by byte: src/model/order-text.ts.
-- is_text: whether the body can be handed over as text, which is half the size of hex, and no decoding.
create table {schema}.events (
  id           uuid        primary key,
  source       text        not null,
  event_key    bytea,
  type         text        not null,
  topic        bigint      not null,
  key_hash     bytea       not null,
  body         bytea       not null,
  headers      text        not null,
  received_at  timestamptz not null,
  occurred_at  timestamptz,
  version      text        collate "C",
  sequence     text        collate "C",
  verified_by  text        not null,
  is_text      boolean     not null,
  request_id   uuid,
  erased_at    timestamptz
) partition by range (id);
create table {schema}.events_default partition of {schema}.events default;
-- Without the source: an operator who was given a key may not know whose it is.
create index events_by_key on {schema}.events (sha256(event_key), id);
create index events_by_request on {schema}.events (request_id) where request_id is not null;

-- The request that events are parts of, kept once for all of them.
create table {schema}.requests (
  id   uuid  primary key,
  body bytea not null
) partition by range (id);
create table {schema}.requests_default partition of {schema}.requests default;

-- bytes: how large the body is, so that a claim can stop before it reads more than it can hold.
-- lane_id to wait_until: where an event stands that has an order, once a worker has sorted it (lane-tables.ts).
create table {schema}.queue (
  event_id      uuid        not null,
  topic         bigint      not null,
  run_at        timestamptz not null,
  run           integer     not null default 0,
  attempts      smallint    not null default 0,
  crashes       smallint    not null default 0,
  bytes         integer     not null,
  leasable      boolean     not null default false,
  lease_token   bigint,
  lease_until   timestamptz,
  lease_worker  text,
  parked        text
                check (parked in ('waiting', 'unhandled', 'conflict', 'quarantined')),
  parked_reason text,
  lane_id       uuid,
  number        bigint,
  place         text        collate "C",
  policy        text
                check (policy in ('block', 'pass', 'run', 'dead')),
  wait_ms       integer,
  wait_until    timestamptz,
  primary key (event_id, run)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000
);
create index queue_fresh on {schema}.queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and not leasable and lane_id is null;
create index queue_head on {schema}.queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and not leasable and lane_id is not null;
create index queue_again on {schema}.queue (topic, run_at, event_id)
 where parked is null and attempts > 0 and crashes = 0 and not leasable;
create index queue_suspect on {schema}.queue (run_at, event_id)
 where parked is null and crashes > 0 and not leasable;
create index queue_leasable on {schema}.queue (topic, run_at, event_id)
 where parked is null and leasable and lease_token is null;
-- When the next retry of any topic is due.
create index queue_later on {schema}.queue (run_at)
 where parked is null and attempts > 0 and lease_token is null;
create index queue_leased on {schema}.queue (lease_worker)
 where lease_token is not null;
create index queue_unhandled on {schema}.queue (topic)
 where parked = 'unhandled';
-- For operators: the parked of one state, newest first.
create index queue_parked on {schema}.queue (parked, event_id)
 where parked is not null;
create sequence {schema}.lease_tokens;

-- lane_id, place: which version of its lane it was, where lanes go by versions; for a replay (sql/event-standing.ts).
create table {schema}.outcomes (
  event_id    uuid        not null,
  run         integer     not null,
  state       text        not null
              check (state in ('done', 'dead', 'skipped', 'discarded')),
  attempts    integer     not null,
  started_at  timestamptz,
  duration_ms integer     not null,
  reason      text,
  result      text,
  settled_at  timestamptz not null,
  lane_id     uuid,
  place       text        collate "C",
  primary key (event_id, run)
) partition by range (event_id);
create table {schema}.outcomes_default partition of {schema}.outcomes default;
create index outcomes_dead on {schema}.outcomes (settled_at) where state = 'dead';
-- For operators: what ended without success, of one state, newest first.
create index outcomes_not_done on {schema}.outcomes (state, event_id) where state <> 'done';

-- Those that failed: which handler, when, where, and for what reason.
create table {schema}.attempts (
  event_id    uuid        not null,
  run         integer     not null,
  attempt     integer     not null,
  reason      text        not null,
  message     text        not null,
  handler     text,
  stack       text,
  cause       text,
  started_at  timestamptz,
  duration_ms integer     not null,
  failed_at   timestamptz not null
) partition by range (event_id);
create table {schema}.attempts_default partition of {schema}.attempts default;
create index attempts_event_id on {schema}.attempts (event_id);

create table {schema}.deliveries (
  event_id uuid        not null,
  minute   timestamptz not null,
  outcome  text        not null,
  count    bigint      not null,
  primary key (event_id, minute, outcome)
) with (fillfactor = 80);

-- Which secret has verified how many deliveries, by its label. The secret itself is never here.
create table {schema}.secret_uses (
  source       text        not null,
  label        text        not null,
  deliveries   bigint      not null,
  last_used_at timestamptz,
  until        timestamptz,
  primary key (source, label)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table {schema}.workers (
  worker_id        text        not null,
  slot             integer     not null,
  beat_at          timestamptz not null,
  running          uuid[]      not null default '{}',
  running_attempts integer[]   not null default '{}',
  running_since    timestamptz,
  handles          text        not null default '[]',
  primary key (worker_id, slot)
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table {schema}.commit_fences (
  worker_id text    not null,
  slot      integer not null,
  uses      bigint  not null,
  primary key (worker_id, slot)
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The triggers below need it to be made; the functions put the true one in its place.
create function {schema}.fence_commit() returns trigger language plpgsql as $fence$
begin
  raise exception 'the functions of hookonce are missing in this schema'
    using errcode = 'object_not_in_prerequisite_state';
end
$fence$;
create constraint trigger fence_commit
 after insert or update on {schema}.commit_fences
 deferrable initially deferred
 for each row execute function {schema}.fence_commit();

create table {schema}.steps (
  event_id   uuid        not null,
  run        integer     not null,
  handler    text        not null,
  position   integer     not null,
  kind       text        not null check (kind in ('tx', 'call', 'send')),
  name       text        not null,
  state      text        not null check (state in ('started', 'refused', 'done')),
  starts     integer     not null default 1,
  started_at timestamptz not null,
  result     text,
  primary key (event_id, run, handler, position)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
);
-- The row of a tx step is written when its transaction opens, and is started until our COMMIT.
create constraint trigger fence_step
 after insert or update of state on {schema}.steps
 deferrable initially deferred
 for each row when (new.state = 'started' and new.kind <> 'call') execute function {schema}.fence_commit();`
