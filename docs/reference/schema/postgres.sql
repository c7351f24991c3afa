begin;

create schema if not exists "hookonce";

create table if not exists "hookonce".migrations (
  version    integer     primary key,
  applied_at timestamptz not null default now()
);

-- Tables, version 1

create table "hookonce".meta (
  name  text primary key,
  value text not null
);
insert into "hookonce".meta (name, value) values ('epoch', gen_random_uuid()::text);
-- The last run of the pruner; to begin with, when the tables were made.
insert into "hookonce".meta (name, value)
values ('prune', json_build_object('atMs', (extract(epoch from clock_timestamp()) * 1000)::bigint,
                                   'usualEvents', 0, 'usualKeys', 0)::text);

create table "hookonce".keys (
  hash        bytea primary key,
  event_id    uuid  not null,
  fingerprint bytea not null
);
create index keys_event_id on "hookonce".keys (event_id);

-- version and sequence are texts that sort as what they stand for, byte by byte: src/model/order-text.ts.
-- is_text: whether the body can be handed over as text, which is half the size of hex, and no decoding.
create table "hookonce".events (
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
create table "hookonce".events_default partition of "hookonce".events default;
-- Without the source: an operator who was given a key may not know whose it is.
create index events_by_key on "hookonce".events (sha256(event_key), id);
create index events_by_request on "hookonce".events (request_id) where request_id is not null;

-- The request that events are parts of, kept once for all of them.
create table "hookonce".requests (
  id   uuid  primary key,
  body bytea not null
) partition by range (id);
create table "hookonce".requests_default partition of "hookonce".requests default;

-- bytes: how large the body is, so that a claim can stop before it reads more than it can hold.
-- lane_id to wait_until: where an event stands that has an order, once a worker has sorted it (lane-tables.ts).
create table "hookonce".queue (
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
create index queue_fresh on "hookonce".queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and not leasable and lane_id is null;
create index queue_head on "hookonce".queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and not leasable and lane_id is not null;
create index queue_again on "hookonce".queue (topic, run_at, event_id)
 where parked is null and attempts > 0 and crashes = 0 and not leasable;
create index queue_suspect on "hookonce".queue (run_at, event_id)
 where parked is null and crashes > 0 and not leasable;
create index queue_leasable on "hookonce".queue (topic, run_at, event_id)
 where parked is null and leasable and lease_token is null;
-- When the next retry of any topic is due.
create index queue_later on "hookonce".queue (run_at)
 where parked is null and attempts > 0 and lease_token is null;
create index queue_leased on "hookonce".queue (lease_worker)
 where lease_token is not null;
create index queue_unhandled on "hookonce".queue (topic)
 where parked = 'unhandled';
-- For operators: the parked of one state, newest first.
create index queue_parked on "hookonce".queue (parked, event_id)
 where parked is not null;
create sequence "hookonce".lease_tokens;

-- lane_id, place: which version of its lane it was, where lanes go by versions; for a replay (sql/event-standing.ts).
create table "hookonce".outcomes (
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
create table "hookonce".outcomes_default partition of "hookonce".outcomes default;
create index outcomes_dead on "hookonce".outcomes (settled_at) where state = 'dead';
-- For operators: what ended without success, of one state, newest first.
create index outcomes_not_done on "hookonce".outcomes (state, event_id) where state <> 'done';

-- Those that failed: which handler, when, where, and for what reason.
create table "hookonce".attempts (
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
create table "hookonce".attempts_default partition of "hookonce".attempts default;
create index attempts_event_id on "hookonce".attempts (event_id);

create table "hookonce".deliveries (
  event_id uuid        not null,
  minute   timestamptz not null,
  outcome  text        not null,
  count    bigint      not null,
  primary key (event_id, minute, outcome)
) with (fillfactor = 80);

-- Which secret has verified how many deliveries, by its label. The secret itself is never here.
create table "hookonce".secret_uses (
  source       text        not null,
  label        text        not null,
  deliveries   bigint      not null,
  last_used_at timestamptz,
  until        timestamptz,
  primary key (source, label)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table "hookonce".workers (
  worker_id        text        not null,
  slot             integer     not null,
  beat_at          timestamptz not null,
  running          uuid[]      not null default '{}',
  running_attempts integer[]   not null default '{}',
  running_since    timestamptz,
  handles          text        not null default '[]',
  primary key (worker_id, slot)
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table "hookonce".commit_fences (
  worker_id text    not null,
  slot      integer not null,
  uses      bigint  not null,
  primary key (worker_id, slot)
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The triggers below need it to be made; the functions put the true one in its place.
create function "hookonce".fence_commit() returns trigger language plpgsql as $fence$
begin
  raise exception 'the functions of hookonce are missing in this schema'
    using errcode = 'object_not_in_prerequisite_state';
end
$fence$;
create constraint trigger fence_commit
 after insert or update on "hookonce".commit_fences
 deferrable initially deferred
 for each row execute function "hookonce".fence_commit();

create table "hookonce".steps (
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
 after insert or update of state on "hookonce".steps
 deferrable initially deferred
 for each row when (new.state = 'started' and new.kind <> 'call') execute function "hookonce".fence_commit();

-- next: the number that comes next in a sequence.  applied: the latest version that was applied.
-- applied_by: the event that had it, and was applied last.
-- paused_at: since when an operator holds it; paused_reason and paused_actor: why, and who.
-- used_at: when something last changed in it, give or take an hour.
create table "hookonce".lanes (
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
create index lanes_by_key on "hookonce".lanes (source, md5(key));
-- Every worker reads what is paused once a second.
create index lanes_paused on "hookonce".lanes (lane_id)
 where paused_at is not null;

create table "hookonce".lane_facts (
  lane_id  uuid        not null,
  type     text        not null,
  event_id uuid        not null,
  done_at  timestamptz not null,
  primary key (lane_id, type)
);

create table "hookonce".lane_blocks (
  lane_id  uuid    not null,
  event_id uuid    not null,
  run      integer not null,
  primary key (lane_id, event_id, run)
);

create table "hookonce".lane_news (
  id         bigint  generated always as identity primary key,
  lane_id    uuid    not null,
  event_id   uuid    not null,
  is_blocked boolean not null
);

-- What is not parked in a lane. A clause of a claim or a mend says the same, word for word.
create index queue_active on "hookonce".queue (lane_id)
 where lane_id is not null and parked is distinct from 'waiting';
create index queue_waiting on "hookonce".queue (lane_id, event_id, run)
 where parked = 'waiting';
create index queue_numbers on "hookonce".queue (lane_id, number, event_id)
 where parked = 'waiting' and number is not null;
create index queue_places on "hookonce".queue (lane_id, place, event_id)
 where parked = 'waiting' and place is not null;
create index queue_deadlines on "hookonce".queue (wait_until)
 where parked = 'waiting' and wait_until is not null;

create table "hookonce".messages (
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
create index messages_event_id on "hookonce".messages (event_id) where event_id is not null;

create table "hookonce".message_queue (
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
create index message_queue_due on "hookonce".message_queue (destination, send_at, message_id);
create index message_queue_lanes on "hookonce".message_queue (lane_id, lane_position) where lane_id is not null;
create index message_queue_leased_lanes on "hookonce".message_queue (lane_id)
 where lane_id is not null and lease_token is not null;
create sequence "hookonce".message_lease_tokens;
create sequence "hookonce".message_lane_positions;

create table "hookonce".message_lane_blocks (
  message_id uuid primary key,
  lane_id    uuid not null
);
create index message_lane_blocks_lane_id on "hookonce".message_lane_blocks (lane_id);

create table "hookonce".message_outcomes (
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
create index message_outcomes_waiting on "hookonce".message_outcomes (state, settled_at)
 where state in ('dead', 'unknown');
create index message_outcomes_stopped on "hookonce".message_outcomes (message_id)
 where state in ('dead', 'unknown');

create table "hookonce".message_attempts (
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
create index message_attempts_message_id on "hookonce".message_attempts (message_id);

-- The runs of an event after its first. body: what the handlers get in place of the event's own.
create table "hookonce".runs (
  event_id   uuid        not null,
  run        integer     not null,
  reason     text,
  actor      text,
  ordered_at timestamptz not null,
  fresh_keys boolean     not null,
  body       bytea,
  primary key (event_id, run)
);

create table "hookonce".pauses (
  kind          text        not null check (kind in ('source', 'handler', 'destination')),
  name          text        not null,
  paused_reason text,
  paused_actor  text,
  paused_at     timestamptz not null,
  primary key (kind, name)
);

-- A row for every change, written in the transaction that makes it. token: unique, so that a call that is made
-- twice makes one change. outcome: JSON.
create table "hookonce".audit (
  id           bigint      generated always as identity primary key,
  acted_at     timestamptz not null,
  actor        text,
  action       text        not null,
  subject_kind text        not null,
  subject_id   text        not null,
  reason       text,
  token        text        unique,
  outcome      text        not null
);
-- A lane may be longer than an index entry, so the index has its hash.
create index audit_subject on "hookonce".audit (subject_kind, md5(subject_id), id);

create table "hookonce".bulks (
  id         uuid        primary key,
  action     text        not null,
  filter     text        not null,
  reason     text,
  actor      text,
  terms      text,
  state      text        not null
             check (state in ('planning', 'planned', 'aborted', 'pruned')),
  created_at timestamptz not null
);

create table "hookonce".bulk_events (
  bulk_id  uuid        not null,
  event_id uuid        not null,
  outcome  text,
  acted_at timestamptz,
  primary key (bulk_id, event_id)
);
create index bulk_events_left on "hookonce".bulk_events (bulk_id, event_id)
 where outcome is null;

-- hash: SHA-256 of the token, which itself is kept nowhere.
create table "hookonce".tokens (
  name       text        primary key,
  role       text        not null,
  hash       text        not null unique,
  created_at timestamptz not null,
  expires_at timestamptz
);

insert into "hookonce".migrations (version) values (1);

-- Functions, revision 1

do $drop_others$
declare
  other regprocedure;
begin
  for other in
    select p.oid
      from pg_proc p
      join (values ('require_settings', '"hookonce".require_settings()'),
                   ('record_new', '"hookonce".record_new(uuid[], text[], bytea[], text[], bytea[], bytea[], bytea[], bytea[], text[], timestamptz[], timestamptz[], text[], text[], text[], boolean[], bigint[], text[], uuid[], uuid[], bytea[], integer)'),
                   ('claim_fresh', '"hookonce".claim_fresh(text, integer, bigint[], integer[], timestamptz[], integer, bigint)'),
                   ('claim_head', '"hookonce".claim_head(text, integer, bigint[], integer[], timestamptz[], integer, bigint)'),
                   ('claim_again', '"hookonce".claim_again(text, integer, bigint[], integer[], timestamptz[], integer, bigint)'),
                   ('claim_suspect', '"hookonce".claim_suspect(text, integer, bigint[], integer[], timestamptz[], integer, bigint)'),
                   ('claim_behind', '"hookonce".claim_behind(text, integer, uuid[], integer, bigint)'),
                   ('look', '"hookonce".look(bigint, integer, bigint)'),
                   ('fence_commit', '"hookonce".fence_commit()'),
                   ('open_fence', '"hookonce".open_fence(text, integer, text, text)'),
                   ('announce', '"hookonce".announce(text, integer, uuid[], integer[])'),
                   ('lock_lanes', '"hookonce".lock_lanes(uuid[])'),
                   ('mend_lanes', '"hookonce".mend_lanes(uuid[])'),
                   ('leave_lanes', '"hookonce".leave_lanes(uuid[], integer[], text[], uuid[], bigint[], text[], text[])'),
                   ('free_lanes', '"hookonce".free_lanes(uuid[], text[], text[], text[], uuid[])'),
                   ('unsorted_topics', '"hookonce".unsorted_topics(text, bigint, bigint, bigint[], timestamptz[])'),
                   ('unsorted_events', '"hookonce".unsorted_events(bigint[], timestamptz[], integer, uuid[], bigint)'),
                   ('lock_unsorted', '"hookonce".lock_unsorted(bigint[], timestamptz[], integer, uuid[], bigint)'),
                   ('sort_events', '"hookonce".sort_events(uuid[], integer[], uuid[], text[], text[], text[], bigint[], bigint[], text[], integer[], text[])'),
                   ('pass_deadlines', '"hookonce".pass_deadlines(bigint[], text[], bigint[], integer)'),
                   ('settle_resting', '"hookonce".settle_resting(uuid[], integer[], text[], integer[], float8[], integer[], text[], text[])'),
                   ('session_state', '"hookonce".session_state(boolean, text[])'),
                   ('lease_due', '"hookonce".lease_due(text, bigint[], integer[], float8, integer, bigint, bigint)'),
                   ('write_calls', '"hookonce".write_calls(uuid[], integer[], bigint[], text[], integer[], text[], text[], text[])'),
                   ('open_steps', '"hookonce".open_steps(uuid[], integer[], bigint[], text[], integer[], text[], text[])'),
                   ('finish_steps', '"hookonce".finish_steps(uuid[], integer[], text[], integer[], boolean[], text[])'),
                   ('settle_leased', '"hookonce".settle_leased(uuid[], integer[], bigint[], text[], integer[], float8[], integer[], text[], text[], float8[], text[], text[], integer[], float8[], text[], text[], text[], uuid[], text[], text[], text[], uuid[], bigint[])'),
                   ('claim_once', '"hookonce".claim_once(uuid, text, bytea, text, bytea, bytea, bytea, text, boolean, boolean)'),
                   ('lock_message_lanes', '"hookonce".lock_message_lanes(uuid[])'),
                   ('free_message_lanes', '"hookonce".free_message_lanes(uuid[])'),
                   ('enqueue_messages', '"hookonce".enqueue_messages(uuid[], text[], text[], uuid[], text[], text[], bytea[], bigint[], text[], uuid[])'),
                   ('claim_messages', '"hookonce".claim_messages(text[], integer[], bigint[], bigint)'),
                   ('settle_messages', '"hookonce".settle_messages(uuid[], bigint[], text[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], integer[], text[], bytea[], boolean[])'),
                   ('lowest_id_at', '"hookonce".lowest_id_at(float8)'),
                   ('prune_begin', '"hookonce".prune_begin()'),
                   ('prune_survey', '"hookonce".prune_survey(jsonb)'),
                   ('prune_dead', '"hookonce".prune_dead(jsonb, uuid, integer)'),
                   ('prune_payloads', '"hookonce".prune_payloads(jsonb, uuid, integer)'),
                   ('prune_attempts', '"hookonce".prune_attempts(jsonb, uuid, integer)'),
                   ('prune_steps', '"hookonce".prune_steps(jsonb, uuid, integer)'),
                   ('prune_deliveries', '"hookonce".prune_deliveries(jsonb, uuid, integer)'),
                   ('prune_runs', '"hookonce".prune_runs(jsonb, uuid, integer)'),
                   ('prune_messages', '"hookonce".prune_messages(jsonb, uuid, integer)'),
                   ('prune_audit', '"hookonce".prune_audit(jsonb, uuid, integer)'),
                   ('prune_bulks', '"hookonce".prune_bulks(jsonb, uuid, integer)'),
                   ('prune_keys', '"hookonce".prune_keys(jsonb, uuid, integer)'),
                   ('prune_lanes', '"hookonce".prune_lanes(jsonb, uuid, integer)'),
                   ('is_prune_excessive', '"hookonce".is_prune_excessive(jsonb, float8, jsonb, float8)'),
                   ('prune', '"hookonce".prune()')) as wanted (name, signature)
        on wanted.name = p.proname
     where p.pronamespace = to_regnamespace('"hookonce"')
       and p.oid is distinct from to_regprocedure(wanted.signature)
  loop
    execute 'drop function ' || other;
  end loop;
end
$drop_others$;

-- For functions whose call is a transaction of its own: it must not depend on what the role has as defaults.
create or replace function "hookonce".require_settings() returns void language plpgsql as $require_settings$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise 'this needs READ COMMITTED' using errcode = 'active_sql_transaction';
  end if;
  perform set_config('synchronous_commit', 'on', true), set_config('lock_timeout', '5000', true);
end
$require_settings$;

-- The last argument is given where the call is a transaction of its own: such a call must not depend on
-- what the role has as defaults, nor wait for ever for a key that another transaction holds.
create or replace function "hookonce".record_new(
  ids uuid[], sources text[], event_keys bytea[], types text[], key_hashes bytea[], fingerprints bytea[],
  content_hashes bytea[], bodies bytea[], header_texts text[], received timestamptz[], occurred timestamptz[],
  versions text[], sequences text[], verifiers text[], are_text boolean[], topics bigint[], quarantines text[],
  request_ids uuid[], requests uuid[], request_bodies bytea[], lock_timeout_ms integer)
returns table (ord bigint, has_key boolean, has_content boolean, owner uuid, owner_fingerprint text,
               owner_is_dead boolean)
language plpgsql set enable_seqscan = off set jit = off as $record_new$
#variable_conflict use_column
declare
  watched integer := cardinality(array_remove(content_hashes, null));
  claimed integer;
begin
  if lock_timeout_ms is not null then
    if current_setting('transaction_isolation') <> 'read committed' then
      raise 'this needs READ COMMITTED' using errcode = 'active_sql_transaction';
    end if;
    perform set_config('synchronous_commit', 'on', true),
            set_config('lock_timeout', lock_timeout_ms::text, true);
  end if;

  insert into "hookonce".keys (hash, event_id, fingerprint)
  select distinct on (hash) hash, id, fingerprint
    from (select * from unnest(key_hashes, ids, fingerprints) with ordinality
           union all
          select * from unnest(content_hashes, ids, fingerprints) with ordinality
           where watched > 0) as wanted (hash, id, fingerprint, ord)
   where hash is not null
   order by hash, ord
      on conflict do nothing;
  get diagnostics claimed = row_count;

  -- Nearly always: everything in the batch is new.
  if claimed = cardinality(ids) + watched then
    insert into "hookonce".events
           (id, source, event_key, type, key_hash, body, headers, received_at, occurred_at, version, sequence,
            verified_by, is_text, topic, request_id)
    select * from unnest(ids, sources, event_keys, types, key_hashes, bodies, header_texts, received, occurred,
                         versions, sequences, verifiers, are_text, topics, request_ids);
    insert into "hookonce".queue (event_id, topic, run_at, parked, parked_reason, bytes)
    select id, topic, clock_timestamp(), case when quarantine is not null then 'quarantined' end, quarantine,
           octet_length(body)
      from unnest(ids, topics, quarantines, bodies) as draft (id, topic, quarantine, body);
    if requests is not null then
      insert into "hookonce".requests (id, body)
      select * from unnest(requests, request_bodies)
          on conflict do nothing;
    end if;
    return;
  end if;

  if claimed = 0 and lock_timeout_ms is not null then
    perform pg_logical_emit_message(true, 'hookonce', '');
  end if;

  return query
  with draft as materialized (
         select *,
                exists (select from "hookonce".keys k
                         where k.hash = key_hash and k.event_id = id) as has_key,
                exists (select from "hookonce".keys k
                         where k.hash = content_hash and k.event_id = id) as has_content
           from unnest(ids, sources, event_keys, types, key_hashes, content_hashes, bodies, header_texts,
                       received, occurred, versions, sequences, verifiers, are_text, topics, quarantines,
                       request_ids)
           with ordinality
           as draft (id, source, event_key, type, key_hash, content_hash, body, headers,
                     received_at, occurred_at, version, sequence, verified_by, is_text, topic, quarantine,
                     request_id, ord)),
       fresh as (
         select * from draft
          where has_key and (content_hash is null or has_content)),
       stored as (
         insert into "hookonce".events
                (id, source, event_key, type, key_hash, body, headers, received_at, occurred_at, version, sequence,
                 verified_by, is_text, topic, request_id)
         select id, source, event_key, type, key_hash, body, headers, received_at, occurred_at, version, sequence,
                verified_by, is_text, topic, request_id
           from fresh),
       queued as (
         insert into "hookonce".queue (event_id, topic, run_at, parked, parked_reason, bytes)
         select id, topic, clock_timestamp(), case when quarantine is not null then 'quarantined' end, quarantine,
                octet_length(body)
           from fresh),
       kept as (
         insert into "hookonce".requests (id, body)
         select id, body
           from unnest(requests, request_bodies) as request (id, body)
          where id in (select request_id from fresh)
             on conflict do nothing)
  select draft.ord, draft.has_key, draft.has_content, k.event_id, encode(k.fingerprint, 'hex'),
         exists (select from "hookonce".outcomes o where o.event_id = k.event_id and o.state = 'dead')
    from draft
    left join "hookonce".keys k on k.hash = draft.key_hash
   where not (draft.has_key and (draft.content_hash is null or draft.has_content))
   order by draft.ord;
end
$record_new$;

create or replace function "hookonce".claim_fresh(
  worker text, which integer, topics bigint[], limits integer[], low_waters timestamptz[], enough integer,
  bytes_max bigint)
returns table (
  event_id uuid, topic bigint, run integer, attempts smallint, crashes smallint, run_at bigint, source text,
  event_key text, key_hash text, type text, body text, is_text boolean, headers text, received_at bigint,
  occurred_at bigint, version text, sequence text, verified_by text, has_fresh_keys boolean, is_modified boolean,
  place text, lane_id uuid, lane_mode text, lane_key text, lane_applied text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $claim$
#variable_conflict use_column
declare
  taken integer := 0;
  added integer;
begin
  for i in 1 .. cardinality(topics) loop
    return query
  with c as materialized (
         select q.event_id, q.topic, q.run, q.run_at, q.attempts, q.crashes, q.bytes, q.lane_id, q.place
           from "hookonce".queue q
          where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
            and q.topic = topics[i]
            and q.run_at <= (select clock_timestamp())
            and q.run_at >= low_waters[i]
            and (q.event_id, q.attempts + 1) not in (
                select r.event_id, r.attempt
                  from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                 where (w.worker_id, w.slot) <> (worker, which))
          order by q.run_at, q.event_id
          limit limits[i]
            for update skip locked),
       counted as (
         select c.*, sum(c.bytes) over so_far as total, row_number() over so_far as ordinal
           from c
         window so_far as (order by c.run_at, c.event_id rows unbounded preceding))
  select c.event_id, c.topic, c.run, c.attempts, c.crashes,
         (date_part('epoch', c.run_at) * 1000000)::bigint as run_at,
         
         e.source, encode(e.event_key, 'hex') as event_key, encode(e.key_hash, 'hex') as key_hash, e.type,
         case when replay.body is not null then encode(replay.body, 'hex')
              when e.is_text and getdatabaseencoding() = 'UTF8' then convert_from(e.body, 'UTF8')
              else encode(e.body, 'hex') end as body,
         replay.body is null and e.is_text and getdatabaseencoding() = 'UTF8' as is_text, e.headers,
         (date_part('epoch', e.received_at) * 1000)::bigint as received_at,
         (date_part('epoch', e.occurred_at) * 1000)::bigint as occurred_at,
         e.version, e.sequence, e.verified_by,
         coalesce(replay.fresh_keys, false) as has_fresh_keys, replay.body is not null as is_modified,
         c.place, null::uuid, null::text, null::text, null::text
    from counted c
   cross join lateral (select * from "hookonce".events where id = c.event_id limit 1) e
    left join lateral (select r.fresh_keys, r.body
                         from "hookonce".runs r
                        where c.run > 0 and r.event_id = c.event_id and r.run = c.run) replay
      on true
   where c.total <= bytes_max or c.ordinal = 1;
    get diagnostics added = row_count;
    taken := taken + added;
    exit when taken >= enough;
  end loop;
end
$claim$;

create or replace function "hookonce".claim_head(
  worker text, which integer, topics bigint[], limits integer[], low_waters timestamptz[], enough integer,
  bytes_max bigint)
returns table (
  event_id uuid, topic bigint, run integer, attempts smallint, crashes smallint, run_at bigint, source text,
  event_key text, key_hash text, type text, body text, is_text boolean, headers text, received_at bigint,
  occurred_at bigint, version text, sequence text, verified_by text, has_fresh_keys boolean, is_modified boolean,
  place text, lane_id uuid, lane_mode text, lane_key text, lane_applied text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $claim$
#variable_conflict use_column
declare
  taken integer := 0;
  added integer;
begin
  for i in 1 .. cardinality(topics) loop
    return query
  with c as materialized (
         select q.event_id, q.topic, q.run, q.run_at, q.attempts, q.crashes, q.bytes, q.lane_id, q.place
           from "hookonce".queue q
          where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is not null
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
            and q.topic = topics[i]
            and q.run_at <= (select clock_timestamp())
            and q.run_at >= low_waters[i]
            and (q.event_id, q.attempts + 1) not in (
                select r.event_id, r.attempt
                  from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                 where (w.worker_id, w.slot) <> (worker, which))
          order by q.run_at, q.event_id
          limit limits[i]
            for update skip locked),
       counted as (
         select c.*, sum(c.bytes) over so_far as total, row_number() over so_far as ordinal
           from c
         window so_far as (order by c.run_at, c.event_id rows unbounded preceding))
  select c.event_id, c.topic, c.run, c.attempts, c.crashes,
         (date_part('epoch', c.run_at) * 1000000)::bigint as run_at,
         
         e.source, encode(e.event_key, 'hex') as event_key, encode(e.key_hash, 'hex') as key_hash, e.type,
         case when replay.body is not null then encode(replay.body, 'hex')
              when e.is_text and getdatabaseencoding() = 'UTF8' then convert_from(e.body, 'UTF8')
              else encode(e.body, 'hex') end as body,
         replay.body is null and e.is_text and getdatabaseencoding() = 'UTF8' as is_text, e.headers,
         (date_part('epoch', e.received_at) * 1000)::bigint as received_at,
         (date_part('epoch', e.occurred_at) * 1000)::bigint as occurred_at,
         e.version, e.sequence, e.verified_by,
         coalesce(replay.fresh_keys, false) as has_fresh_keys, replay.body is not null as is_modified,
         c.place,
         l.lane_id, l.mode as lane_mode, l.key as lane_key, l.applied as lane_applied
    from counted c
   cross join lateral (select * from "hookonce".events where id = c.event_id limit 1) e
    left join lateral (select r.fresh_keys, r.body
                         from "hookonce".runs r
                        where c.run > 0 and r.event_id = c.event_id and r.run = c.run) replay
      on true
    left join "hookonce".lanes l on l.lane_id = c.lane_id
   where c.total <= bytes_max or c.ordinal = 1;
    get diagnostics added = row_count;
    taken := taken + added;
    exit when taken >= enough;
  end loop;
end
$claim$;

create or replace function "hookonce".claim_again(
  worker text, which integer, topics bigint[], limits integer[], low_waters timestamptz[], enough integer,
  bytes_max bigint)
returns table (
  event_id uuid, topic bigint, run integer, attempts smallint, crashes smallint, run_at bigint, source text,
  event_key text, key_hash text, type text, body text, is_text boolean, headers text, received_at bigint,
  occurred_at bigint, version text, sequence text, verified_by text, has_fresh_keys boolean, is_modified boolean,
  place text, lane_id uuid, lane_mode text, lane_key text, lane_applied text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $claim$
#variable_conflict use_column
declare
  taken integer := 0;
  added integer;
begin
  for i in 1 .. cardinality(topics) loop
    return query
  with c as materialized (
         select q.event_id, q.topic, q.run, q.run_at, q.attempts, q.crashes, q.bytes, q.lane_id, q.place
           from "hookonce".queue q
          where q.parked is null and q.attempts > 0 and q.crashes = 0 and not q.leasable
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
            and q.topic = topics[i]
            and q.run_at <= (select clock_timestamp())
            and q.run_at >= low_waters[i]
            and (q.event_id, q.attempts + 1) not in (
                select r.event_id, r.attempt
                  from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                 where (w.worker_id, w.slot) <> (worker, which))
          order by q.run_at, q.event_id
          limit limits[i]
            for update skip locked),
       counted as (
         select c.*, sum(c.bytes) over so_far as total, row_number() over so_far as ordinal
           from c
         window so_far as (order by c.run_at, c.event_id rows unbounded preceding))
  select c.event_id, c.topic, c.run, c.attempts, c.crashes,
         (date_part('epoch', c.run_at) * 1000000)::bigint as run_at,
         
         e.source, encode(e.event_key, 'hex') as event_key, encode(e.key_hash, 'hex') as key_hash, e.type,
         case when replay.body is not null then encode(replay.body, 'hex')
              when e.is_text and getdatabaseencoding() = 'UTF8' then convert_from(e.body, 'UTF8')
              else encode(e.body, 'hex') end as body,
         replay.body is null and e.is_text and getdatabaseencoding() = 'UTF8' as is_text, e.headers,
         (date_part('epoch', e.received_at) * 1000)::bigint as received_at,
         (date_part('epoch', e.occurred_at) * 1000)::bigint as occurred_at,
         e.version, e.sequence, e.verified_by,
         coalesce(replay.fresh_keys, false) as has_fresh_keys, replay.body is not null as is_modified,
         c.place,
         l.lane_id, l.mode as lane_mode, l.key as lane_key, l.applied as lane_applied
    from counted c
   cross join lateral (select * from "hookonce".events where id = c.event_id limit 1) e
    left join lateral (select r.fresh_keys, r.body
                         from "hookonce".runs r
                        where c.run > 0 and r.event_id = c.event_id and r.run = c.run) replay
      on true
    left join "hookonce".lanes l on l.lane_id = c.lane_id
   where c.total <= bytes_max or c.ordinal = 1;
    get diagnostics added = row_count;
    taken := taken + added;
    exit when taken >= enough;
  end loop;
end
$claim$;

create or replace function "hookonce".claim_suspect(
  worker text, which integer, topics bigint[], limits integer[], low_waters timestamptz[], enough integer,
  bytes_max bigint)
returns table (
  event_id uuid, topic bigint, run integer, attempts smallint, crashes smallint, run_at bigint, source text,
  event_key text, key_hash text, type text, body text, is_text boolean, headers text, received_at bigint,
  occurred_at bigint, version text, sequence text, verified_by text, has_fresh_keys boolean, is_modified boolean,
  place text, lane_id uuid, lane_mode text, lane_key text, lane_applied text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $claim$
#variable_conflict use_column
declare
  taken integer := 0;
  added integer;
begin
  for i in 1 .. cardinality(topics) loop
    return query
  with c as materialized (
         select q.event_id, q.topic, q.run, q.run_at, q.attempts, q.crashes, q.bytes, q.lane_id, q.place
           from "hookonce".queue q
          where q.parked is null and q.crashes > 0 and not q.leasable
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
            and q.topic = topics[i]
            and q.run_at <= (select clock_timestamp())
            and q.run_at >= low_waters[i]
            and (q.event_id, q.attempts + 1) not in (
                select r.event_id, r.attempt
                  from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                 where (w.worker_id, w.slot) <> (worker, which))
          order by q.run_at, q.event_id
          limit limits[i]
            for update skip locked),
       counted as (
         select c.*, sum(c.bytes) over so_far as total, row_number() over so_far as ordinal
           from c
         window so_far as (order by c.run_at, c.event_id rows unbounded preceding))
  select c.event_id, c.topic, c.run, c.attempts, c.crashes,
         (date_part('epoch', c.run_at) * 1000000)::bigint as run_at,
         
         e.source, encode(e.event_key, 'hex') as event_key, encode(e.key_hash, 'hex') as key_hash, e.type,
         case when replay.body is not null then encode(replay.body, 'hex')
              when e.is_text and getdatabaseencoding() = 'UTF8' then convert_from(e.body, 'UTF8')
              else encode(e.body, 'hex') end as body,
         replay.body is null and e.is_text and getdatabaseencoding() = 'UTF8' as is_text, e.headers,
         (date_part('epoch', e.received_at) * 1000)::bigint as received_at,
         (date_part('epoch', e.occurred_at) * 1000)::bigint as occurred_at,
         e.version, e.sequence, e.verified_by,
         coalesce(replay.fresh_keys, false) as has_fresh_keys, replay.body is not null as is_modified,
         c.place,
         l.lane_id, l.mode as lane_mode, l.key as lane_key, l.applied as lane_applied
    from counted c
   cross join lateral (select * from "hookonce".events where id = c.event_id limit 1) e
    left join lateral (select r.fresh_keys, r.body
                         from "hookonce".runs r
                        where c.run > 0 and r.event_id = c.event_id and r.run = c.run) replay
      on true
    left join "hookonce".lanes l on l.lane_id = c.lane_id
   where c.total <= bytes_max or c.ordinal = 1;
    get diagnostics added = row_count;
    taken := taken + added;
    exit when taken >= enough;
  end loop;
end
$claim$;

create or replace function "hookonce".claim_behind(
  worker text, which integer, heads uuid[], most integer, bytes_max bigint)
returns table (
  event_id uuid, topic bigint, run integer, attempts smallint, crashes smallint, run_at bigint, source text,
  event_key text, key_hash text, type text, body text, is_text boolean, headers text, received_at bigint,
  occurred_at bigint, version text, sequence text, verified_by text, has_fresh_keys boolean, is_modified boolean,
  place text, lane_id uuid, lane_mode text, lane_key text, lane_applied text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $claim_behind$
#variable_conflict use_column
begin
  return query
  with full_lanes as materialized (
         select l.lane_id, q.topic
           from "hookonce".queue q
           join "hookonce".lanes l on l.lane_id = q.lane_id
          where q.event_id = any(heads) and q.parked is null and l.mode = 'fifo' and l.paused_at is null),
       behind as materialized (
         select row_of.*
           from full_lanes f
          cross join lateral (
                select n.event_id, n.run, n.bytes, row_number() over so_far as nth,
                       bool_and(n.topic = f.topic and n.attempts = 0 and n.crashes = 0 and not n.leasable
                                and not exists (select from "hookonce".lane_blocks b
                                                 where b.lane_id = f.lane_id and (b.event_id, b.run) < (n.event_id, n.run))
                                and (n.event_id, n.attempts + 1) not in (
                                    select r.event_id, r.attempt
                                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                                     where (w.worker_id, w.slot) <> (worker, which))) over so_far as is_next
                  from (select q.*
                          from "hookonce".queue q
                         where q.lane_id = f.lane_id and q.parked = 'waiting'
                         order by q.event_id, q.run
                         limit most) n
                window so_far as (order by n.event_id, n.run rows unbounded preceding)) row_of
          where row_of.is_next),
       counted as (
         select b.*, row_number() over so_far as ordinal,
                sum(b.bytes) over so_far
                + (select sum(q.bytes) from "hookonce".queue q where q.event_id = any(heads)) as total
           from behind b
         window so_far as (order by b.nth, b.event_id rows unbounded preceding)),
       held as materialized (
         select q.event_id, q.topic, q.run, q.run_at, q.attempts, q.crashes, q.lane_id, q.place, counted.nth
           from counted
           join "hookonce".queue q on q.event_id = counted.event_id and q.run = counted.run
          where q.event_id = any(array(select event_id from counted)) and counted.ordinal <= most and counted.total <= bytes_max and q.parked = 'waiting'
            for update of q skip locked),
       c as (
         select h.*, row_number() over (partition by h.lane_id order by h.nth) as place_held from held h)
  select c.event_id, c.topic, c.run, c.attempts, c.crashes,
         (date_part('epoch', c.run_at) * 1000000)::bigint as run_at,
         
         e.source, encode(e.event_key, 'hex') as event_key, encode(e.key_hash, 'hex') as key_hash, e.type,
         case when replay.body is not null then encode(replay.body, 'hex')
              when e.is_text and getdatabaseencoding() = 'UTF8' then convert_from(e.body, 'UTF8')
              else encode(e.body, 'hex') end as body,
         replay.body is null and e.is_text and getdatabaseencoding() = 'UTF8' as is_text, e.headers,
         (date_part('epoch', e.received_at) * 1000)::bigint as received_at,
         (date_part('epoch', e.occurred_at) * 1000)::bigint as occurred_at,
         e.version, e.sequence, e.verified_by,
         coalesce(replay.fresh_keys, false) as has_fresh_keys, replay.body is not null as is_modified,
         c.place,
         l.lane_id, l.mode as lane_mode, l.key as lane_key, l.applied as lane_applied
    from c
   cross join lateral (select * from "hookonce".events where id = c.event_id limit 1) e
    left join lateral (select r.fresh_keys, r.body
                         from "hookonce".runs r
                        where c.run > 0 and r.event_id = c.event_id and r.run = c.run) replay
      on true
    join "hookonce".lanes l on l.lane_id = c.lane_id
   where c.place_held = c.nth
   order by c.nth, c.event_id;
end
$claim_behind$;

create or replace function "hookonce".look(after_topic bigint, most integer, suspect_lock bigint)
returns table (kind text, topic bigint, source text, type text, due_in_ms float8)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $look$
#variable_conflict use_column
begin
  return query
  with recursive 
       fresh as (
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
                 and q.topic > after_topic
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
               order by q.topic, q.run_at, q.event_id
               limit 1)
              union all
             select next.*
               from fresh
              cross join lateral 
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
                 and q.topic > fresh.topic
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
               order by q.topic, q.run_at, q.event_id
               limit 1) next),
       head as (
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is not null
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
                 and q.topic > after_topic
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
               order by q.topic, q.run_at, q.event_id
               limit 1)
              union all
             select next.*
               from head
              cross join lateral 
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is not null
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
                 and q.topic > head.topic
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
               order by q.topic, q.run_at, q.event_id
               limit 1) next),
       again as (
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts > 0 and q.crashes = 0 and not q.leasable
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
                 and q.topic > after_topic
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
               order by q.topic, q.run_at, q.event_id
               limit 1)
              union all
             select next.*
               from again
              cross join lateral 
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts > 0 and q.crashes = 0 and not q.leasable
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
                 and q.topic > again.topic
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
               order by q.topic, q.run_at, q.event_id
               limit 1) next),
       leasable as (
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.leasable and q.lease_token is null
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
                 and q.topic > after_topic
               order by q.topic, q.run_at, q.event_id
               limit 1)
              union all
             select next.*
               from leasable
              cross join lateral 
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.leasable and q.lease_token is null
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
                 and q.topic > leasable.topic
               order by q.topic, q.run_at, q.event_id
               limit 1) next),
       suspect as materialized (
         select distinct on (q.topic) q.topic, q.event_id, q.run_at
           from "hookonce".queue q
          where q.parked is null and q.crashes > 0 and not q.leasable
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
          order by q.topic, q.run_at),
       -- While one suspect runs no other can be claimed, however long it is due. The locks are looked at only when
       -- there is a suspect, and not by trying: that would be in the way of a worker that claims one.
       free_suspect as (
         select *
           from suspect
          where not exists (select
                              from pg_locks
                             where locktype = 'advisory' and granted
                               and database = (select oid from pg_database where datname = current_database())
                               and classid = ((suspect_lock >> 32) & 4294967295)::oid
                               and objid = (suspect_lock & 4294967295)::oid
                               and objsubid = 1)),
       due as (
         (select 'fresh' as kind, f.* from fresh f limit most)
          union all
         (select 'head', h.* from head h limit most)
          union all
         (select 'again', a.* from again a limit most)
          union all
         (select 'leasable', l.* from leasable l limit most)
          union all
         (select 'suspect', s.* from free_suspect s limit most))
  select due.kind, due.topic, e.source, e.type,
         (extract(epoch from due.run_at - clock_timestamp()) * 1000)::float8
    from due
    join lateral (select * from "hookonce".events where id = due.event_id limit 1) e on true
   union all
  select 'later', null, null, null,
         least((extract(epoch from (select min(q.run_at)
                                      from "hookonce".queue q
                                     where q.parked is null and q.attempts > 0 and q.lease_token is null
                                       and q.run_at > (select clock_timestamp())) - clock_timestamp()) * 1000)::float8,
               (select greatest(extract(epoch from q.wait_until - clock_timestamp()) * 1000, 1000)::float8
                  from "hookonce".queue q
                 where q.parked = 'waiting' and q.wait_until is not null
                 order by q.wait_until
                 limit 1));
end
$look$;

create or replace function "hookonce".fence_commit() returns trigger language plpgsql as $fence$
declare
  -- One line for each call that led here.
  calls text;
begin
  if current_setting('hookonce.commit', true) is not distinct from 'ours' then
    return null;
  end if;
  get diagnostics calls = pg_context;
  -- SET CONSTRAINTS ALL IMMEDIATE comes here as COMMIT does. No code can commit from within this transaction.
  if strpos(calls, chr(10)) = 0
     and (current_query() !~* '\mconstraints\M' or current_query() ~* '\m(commit|end|prepare)\M') then
    raise exception 'a handler may not commit the transaction it was lent'
      using errcode = 'invalid_transaction_termination';
  end if;
  -- Armed again.
  set constraints "hookonce".fence_commit, "hookonce".fence_step deferred;
  if tg_table_name = 'commit_fences' then
    update "hookonce".commit_fences f set uses = f.uses + 1
     where f.worker_id = new.worker_id and f.slot = new.slot;
  else
    update "hookonce".steps s set state = s.state
     where s.event_id = new.event_id and s.run = new.run and s.handler = new.handler and s.position = new.position;
  end if;
  return null;
end
$fence$;

create or replace function "hookonce".open_fence(worker text, fresh_slot integer, idle_timeout text, lock_wait text)
returns table (pid integer, xid xid8)
language plpgsql as $open_fence$
declare
  free integer;
begin
  select g.slot into free
    from "hookonce".commit_fences g
   where g.worker_id = worker
   limit 1
     for update skip locked;
  if found then
    update "hookonce".commit_fences g set uses = g.uses + 1 where g.worker_id = worker and g.slot = free;
  else
    insert into "hookonce".commit_fences (worker_id, slot, uses) values (worker, fresh_slot, 1);
  end if;
  perform set_config('idle_in_transaction_session_timeout', idle_timeout, true),
          set_config('lock_timeout', lock_wait, true);
  return query select pg_backend_pid(), pg_current_xact_id();
end
$open_fence$;

create or replace function "hookonce".announce(worker text, which integer, events uuid[], attempts integer[]) returns void
language plpgsql as $announce$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into "hookonce".workers (worker_id, slot, beat_at, running, running_attempts, running_since)
  values (worker, which, clock_timestamp(), events, attempts, clock_timestamp())
      on conflict (worker_id, slot) do update
     set running = excluded.running,
         running_attempts = excluded.running_attempts,
         running_since = excluded.running_since,
         beat_at = excluded.beat_at;
end
$announce$;

create or replace function "hookonce".lock_lanes(wanted uuid[])
returns void language plpgsql set lock_timeout = '10s' set enable_seqscan = off set jit = off as $lock_lanes$
begin
  perform 1
     from "hookonce".lanes l
    where l.lane_id = any(wanted)
    order by l.mode = 'after', l.lane_id
      for update;
end
$lock_lanes$;

create or replace function "hookonce".mend_lanes(wanted uuid[])
returns void language plpgsql set lock_timeout = '10s' set enable_seqscan = off set jit = off as $mend_lanes$
#variable_conflict use_column
begin
  perform "hookonce".lock_lanes(wanted);

  update "hookonce".lanes l
     set used_at = clock_timestamp()
   where l.lane_id = any(wanted) and l.used_at < clock_timestamp() - interval '1 hour';

  with freed as (
         delete from "hookonce".lane_blocks b
          where b.lane_id = any(wanted) and not 
         (exists (select from "hookonce".outcomes o
                   where o.event_id = b.event_id and o.run = b.run and o.state = 'dead')
          or exists (select from "hookonce".queue u
                      where u.event_id = b.event_id and u.run = b.run and u.lane_id is null))
         returning b.lane_id, b.event_id)
  insert into "hookonce".lane_news (lane_id, event_id, is_blocked)
  select freed.lane_id, freed.event_id, false from freed;

  -- paused: every event waits but one that a worker has in hand: leased, or among what the worker says it runs.
  if exists (select from "hookonce".lanes l where l.lane_id = any(wanted) and l.paused_at is not null) then
    with held as materialized (
           select a.event_id, a.run
             from "hookonce".lanes l
             join "hookonce".queue a on a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
            where l.lane_id = any(wanted) and a.lane_id = any(wanted) and l.paused_at is not null
              and a.parked is null and a.lease_token is null
              and not exists (
                  select
                    from "hookonce".workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                   where r.event_id = a.event_id and r.attempt = a.attempts + 1)
              for update of a skip locked)
    update "hookonce".queue q
       set parked = 'waiting'
      from held
     where q.event_id = any(array(select event_id from held))
     and q.event_id = held.event_id and q.run = held.run;
  end if;

  -- latest: one that failed, and is not due yet, lets those go first that are due before it.
  with late as materialized (
         select a.event_id, a.run
           from "hookonce".queue a
          where a.lane_id = any(array(
                    select l.lane_id
                      from "hookonce".lanes l
                     where l.lane_id = any(wanted) and l.mode = 'latest' and l.paused_at is null
                       and exists (select from "hookonce".queue w
                                    where w.lane_id = l.lane_id and w.parked = 'waiting' and w.run_at < 
            (select a.run_at
               from "hookonce".queue a
              where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
              limit 1))))
            and a.lane_id is not null and a.parked is distinct from 'waiting'
            and a.parked is null and a.lease_token is null and a.run_at > clock_timestamp()
            for update of a skip locked)
  update "hookonce".queue q
     set parked = 'waiting'
    from late
   where q.event_id = any(array(select event_id from late))
     and q.event_id = late.event_id and q.run = late.run;

  with free as materialized (
         select l.lane_id, l.mode, l.next
           from "hookonce".lanes l
          where l.lane_id = any(wanted) and l.paused_at is null and l.mode <> 'after'
            and 
            (select true
               from "hookonce".queue a
              where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
              limit 1) is null),
       chosen as materialized (
         select first.event_id, first.run
           from free
          cross join lateral (select q.event_id, q.run
                                from "hookonce".queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting'
                               order by q.event_id, q.run
                               limit 1) first
          where free.mode = 'fifo'
            and not exists (select from "hookonce".lane_blocks b
                             where b.lane_id = free.lane_id and (b.event_id, b.run) < (first.event_id, first.run))
          union all
         select lowest.event_id, lowest.run
           from free
          cross join lateral (select q.event_id, q.run
                                from "hookonce".queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting' and q.number is not null
                                 and q.number <= free.next
                               order by q.number, q.event_id
                               limit 1) lowest
          where free.mode = 'sequence'
          union all
         select coalesce(newest.event_id, soonest.event_id), coalesce(newest.run, soonest.run)
           from free
          cross join lateral (select q.event_id, q.run
                                from "hookonce".queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting'
                               order by q.run_at, q.event_id
                               limit 1) soonest
           left join lateral (select q.event_id, q.run
                                from "hookonce".queue q
                               where q.lane_id = free.lane_id and q.parked = 'waiting' and q.place is not null
                                 and q.run_at <= clock_timestamp()
                               order by q.place desc, q.event_id desc
                               limit 1) newest on true
          where free.mode = 'latest')
  update "hookonce".queue q
     set parked = null, parked_reason = null, wait_until = null,
         run_at = case when q.attempts = 0 then clock_timestamp()
                       else greatest(q.run_at, clock_timestamp()) end
    from chosen
   where q.event_id = any(array(select event_id from chosen))
     and q.event_id = chosen.event_id and q.run = chosen.run;

  -- after: each for itself.
  update "hookonce".queue q
     set parked = null, parked_reason = null, wait_until = null,
         run_at = case when q.attempts = 0 then clock_timestamp()
                       else greatest(q.run_at, clock_timestamp()) end
    from "hookonce".lanes l
    join "hookonce".lane_facts f on f.lane_id = l.lane_id
   where l.lane_id = any(wanted) and l.mode = 'after' and l.paused_at is null
     and q.lane_id = any(wanted) and q.lane_id = l.lane_id and q.parked = 'waiting' and q.place = f.type;

  -- From here on they wait for what is missing, and for so long.
  with missing as materialized (
         select lowest.event_id, lowest.run
           from "hookonce".lanes l
          cross join lateral (select q.event_id, q.run, q.wait_until
                                from "hookonce".queue q
                               where q.lane_id = l.lane_id and q.parked = 'waiting' and q.number is not null
                               order by q.number, q.event_id
                               limit 1) lowest
          where l.lane_id = any(wanted) and l.mode = 'sequence' and l.paused_at is null
            and lowest.wait_until is null and 
            (select true
               from "hookonce".queue a
              where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
              limit 1) is null
          union all
         select q.event_id, q.run
           from "hookonce".lanes l
           join "hookonce".queue q on q.lane_id = l.lane_id and q.parked = 'waiting'
          where l.lane_id = any(wanted) and q.lane_id = any(wanted) and l.mode = 'after' and l.paused_at is null
            and q.wait_until is null)
  update "hookonce".queue q
     set wait_until = clock_timestamp() + q.wait_ms * interval '1 millisecond'
    from missing
   where q.event_id = any(array(select event_id from missing))
     and q.event_id = missing.event_id and q.run = missing.run;
end
$mend_lanes$;

-- Events have come to rest: what that means for their lanes.
create or replace function "hookonce".leave_lanes(
  events uuid[], runs integer[], states text[], left_lanes uuid[], numbers bigint[], places text[], policies text[])
returns void language plpgsql set lock_timeout = '10s' set enable_seqscan = off set jit = off as $leave_lanes$
#variable_conflict use_column
declare
  in_order uuid[] := array(select l.lane_id from "hookonce".lanes l where l.lane_id = any(left_lanes) and l.mode <> 'after');
begin
  if cardinality(in_order) = 0 then return; end if;
  perform "hookonce".lock_lanes(in_order);

  -- A number is taken when it was applied, or needed nothing. A dead one is missing.
  update "hookonce".lanes l
     set next = greatest(l.next, s.following)
    from (select s.lane_id, max(s.number) + 1 as following
            from unnest(states, left_lanes, numbers) as s (state, lane_id, number)
           where s.state in ('done', 'skipped') and s.number is not null
           group by s.lane_id) s
   where l.lane_id = s.lane_id and l.mode = 'sequence';

  update "hookonce".lanes l
     set applied = s.version, applied_by = s.event_id
    from (select distinct on (s.lane_id) s.lane_id, s.place collate "C" as version, s.event_id
            from unnest(events, states, left_lanes, places) as s (event_id, state, lane_id, place)
           where s.state = 'done' and s.place is not null
           order by s.lane_id, s.place collate "C" desc, s.event_id desc) s
   where l.lane_id = s.lane_id and l.mode = 'latest'
     and (l.applied is null or left(l.applied, 1) <> left(s.version, 1) or l.applied <= s.version);

  with blocked as (
         insert into "hookonce".lane_blocks (lane_id, event_id, run)
         select s.lane_id, s.event_id, s.run
           from unnest(events, runs, states, left_lanes, policies) as s (event_id, run, state, lane_id, policy)
          where s.state = 'dead' and s.policy = 'block'
             on conflict do nothing
         returning lane_id, event_id)
  insert into "hookonce".lane_news (lane_id, event_id, is_blocked)
  select blocked.lane_id, blocked.event_id, true from blocked;

  perform "hookonce".mend_lanes(in_order);
end
$leave_lanes$;

-- An event of a type was done that others may wait for.
create or replace function "hookonce".free_lanes(
  freed uuid[], sources text[], keys text[], types text[], events uuid[])
returns void language plpgsql set lock_timeout = '10s' set enable_seqscan = off set jit = off as $free_lanes$
begin
  -- Whether a lane that is new is paused is found out when an event comes into it (sort-events.ts): here a pause of
  -- another lane with its text may be about to be committed.
  insert into "hookonce".lanes (lane_id, source, key, mode)
  select distinct on (s.lane_id) s.lane_id, s.source, s.key, 'after'
    from unnest(freed, sources, keys) as s (lane_id, source, key)
   order by s.lane_id
      on conflict (lane_id) do update set used_at = clock_timestamp()
        where lanes.used_at < clock_timestamp() - interval '1 hour';
  perform "hookonce".lock_lanes(freed);
  insert into "hookonce".lane_facts (lane_id, type, event_id, done_at)
  select s.lane_id, s.type, s.event_id, clock_timestamp()
    from unnest(freed, types, events) as s (lane_id, type, event_id)
      on conflict do nothing;
  perform "hookonce".mend_lanes(freed);
end
$free_lanes$;

create or replace function "hookonce".unsorted_topics(
  of_source text, first_topic bigint, last_topic bigint, known bigint[], low_waters timestamptz[])
returns table (topic bigint, type text, run_at bigint, asked_at bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $unsorted_topics$
#variable_conflict use_column
begin
  return query
  with recursive places as materialized (
         select p.topic, p.low_water, lead(p.topic, 1, last_topic + 1) over (order by p.topic) as before
           from (select * from unnest(known, low_waters) as k (topic, low_water)
                  union all
                 select first_topic - 1, null) p),
       between_them as (
         select p.before, n.topic, n.event_id, n.run_at from places p cross join lateral 
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
                 and q.topic > p.topic and q.topic < p.before
               order by q.topic, q.run_at, q.event_id
               limit 1) n
          union all
         select b.before, n.topic, n.event_id, n.run_at from between_them b cross join lateral 
             (select q.topic, q.event_id, q.run_at
                from "hookonce".queue q
               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
                 and q.topic > b.topic and q.topic < b.before
               order by q.topic, q.run_at, q.event_id
               limit 1) n),
       found as (
         select b.topic, b.event_id, b.run_at from between_them b
          union all
         select p.topic, n.event_id, n.run_at
           from places p
           left join lateral (select q.event_id, q.run_at
                                from "hookonce".queue q
                               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
                                 and q.topic = p.topic and q.run_at >= p.low_water
                               order by q.run_at, q.event_id
                               limit 1) n on true
          where p.low_water is not null)
  select found.topic, e.type, (date_part('epoch', found.run_at) * 1000000)::bigint, (date_part('epoch', clock_timestamp()) * 1000000)::bigint
    from found
    left join lateral (select * from "hookonce".events where id = found.event_id limit 1) e on true
   where found.event_id is null or e.source = of_source;
end
$unsorted_topics$;

create or replace function "hookonce".unsorted_events(
  topics bigint[], low_waters timestamptz[], most integer, also uuid[], bytes_max bigint)
returns table (event_id uuid, run integer, attempts smallint, place bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $unsorted_events$
#variable_conflict use_column
begin
  return query
  with due as (
         select picked.*
           from unnest(topics, low_waters) as wanted (topic, low_water)
          cross join lateral (select q.event_id, q.run, q.run_at, q.bytes
                                from "hookonce".queue q
                               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
                                 and q.topic = wanted.topic and q.run_at >= wanted.low_water
                               order by q.run_at, q.event_id
                               limit most) picked
          order by picked.run_at, picked.event_id
          limit most),
       counted as materialized (
         select due.event_id, due.run, sum(due.bytes) over so_far as total, row_number() over so_far as place
           from due
         window so_far as (order by due.run_at, due.event_id rows unbounded preceding)),
       chosen as materialized (
         select counted.event_id, counted.run, counted.place
           from counted
          where counted.total <= bytes_max or counted.place = 1
          union all
         select q.event_id, q.run, null
           from "hookonce".queue q
          where q.event_id = any(also) and q.lease_token is null and not (q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null))
  select q.event_id, q.run, q.attempts, chosen.place
    from chosen
    join "hookonce".queue q on q.event_id = chosen.event_id and q.run = chosen.run
   where q.event_id = any(array(select event_id from chosen)) and q.lane_id is null and q.parked is null
   order by q.event_id, q.run;
end
$unsorted_events$;

create or replace function "hookonce".lock_unsorted(
  topics bigint[], low_waters timestamptz[], most integer, also uuid[], bytes_max bigint)
returns table (event_id uuid, run integer, attempts smallint, place bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $lock_unsorted$
#variable_conflict use_column
begin
  return query
  with due as (
         select picked.*
           from unnest(topics, low_waters) as wanted (topic, low_water)
          cross join lateral (select q.event_id, q.run, q.run_at, q.bytes
                                from "hookonce".queue q
                               where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null
                                 and q.topic = wanted.topic and q.run_at >= wanted.low_water
                               order by q.run_at, q.event_id
                               limit most) picked
          order by picked.run_at, picked.event_id
          limit most),
       counted as materialized (
         select due.event_id, due.run, sum(due.bytes) over so_far as total, row_number() over so_far as place
           from due
         window so_far as (order by due.run_at, due.event_id rows unbounded preceding)),
       chosen as materialized (
         select counted.event_id, counted.run, counted.place
           from counted
          where counted.total <= bytes_max or counted.place = 1
          union all
         select q.event_id, q.run, null
           from "hookonce".queue q
          where q.event_id = any(also) and q.lease_token is null and not (q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null))
  select q.event_id, q.run, q.attempts, chosen.place
    from chosen
    join "hookonce".queue q on q.event_id = chosen.event_id and q.run = chosen.run
   where q.event_id = any(array(select event_id from chosen)) and q.lane_id is null and q.parked is null
   order by q.event_id, q.run
     for update of q;
end
$lock_unsorted$;

create or replace function "hookonce".sort_events(
  events uuid[], runs integer[], chosen uuid[], sources text[], keys text[], modes text[], numbers bigint[],
  firsts bigint[], places text[], waits_ms integer[], policies text[])
returns void language plpgsql set enable_seqscan = off set jit = off as $sort_events$
#variable_conflict use_column
begin
  insert into "hookonce".lanes (lane_id, source, key, mode, next)
  select distinct on (s.mode = 'after', s.lane_id) s.lane_id, s.source, s.key, s.mode, s.first
    from unnest(chosen, sources, keys, modes, firsts) as s (lane_id, source, key, mode, first)
   order by s.mode = 'after', s.lane_id, s.first
      on conflict (lane_id) do update set used_at = clock_timestamp()
        where lanes.used_at < clock_timestamp() - interval '1 hour';
  -- A pause is of all lanes with a text: one that is new among them is paused as well. While events are sorted nothing
  -- of the source is paused or resumed.
  update "hookonce".lanes l
     set paused_at = p.paused_at, paused_reason = p.paused_reason, paused_actor = p.paused_actor
    from "hookonce".lanes p
   where l.lane_id = any(chosen) and l.paused_at is null
     and p.paused_at is not null and p.source = l.source and p.key = l.key;
  update "hookonce".queue q
     set lane_id = s.lane_id, number = s.number, place = s.place, wait_ms = s.wait_ms,
         -- A person has retried what died of it: retry-event.ts.
         policy = case when q.policy = 'run' and s.policy = 'dead' then 'run' else s.policy end,
         parked = 'waiting'
    from unnest(events, runs, chosen, numbers, places, waits_ms, policies)
      as s (event_id, run, lane_id, number, place, wait_ms, policy)
   where q.event_id = any(events) and q.event_id = s.event_id and q.run = s.run;
  perform "hookonce".mend_lanes(chosen);
end
$sort_events$;

-- Decides about events whose time to wait is over. Of a sequence it is the lowest that waits for a number; one behind
-- it waits from the time on when it is the lowest. Of an after lane those stay that were to wait for longer than until the
-- oldest event of the required type was stored that was not tried yet: what they wait for may be that one.
create or replace function "hookonce".pass_deadlines(topics bigint[], types text[], required bigint[], most integer)
returns table (event_id uuid, attempts smallint, becomes text, reason text)
language plpgsql set enable_seqscan = off set jit = off as $pass_deadlines$
#variable_conflict use_column
declare
  oldest  timestamptz[];
  expired uuid[];
  late    record;
begin
  perform "hookonce".require_settings();
  oldest := array(
    select (select min(found.stored_at)
              from (
                    (select least(q.run_at, to_timestamp(('x' || translate(left(q.event_id::text, 13), '-', ''))::bit(48)::bigint
                                                  / 1000.0)) as stored_at
                       from "hookonce".queue q
                      where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null and q.topic = wanted.topic
                      order by q.run_at, q.event_id
                      limit 1)
                     union all
                    
                    (select least(q.run_at, to_timestamp(('x' || translate(left(q.event_id::text, 13), '-', ''))::bit(48)::bigint
                                                  / 1000.0)) as stored_at
                       from "hookonce".queue q
                      where q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is not null and q.topic = wanted.topic
                      order by q.event_id
                      limit 1)
                     union all
                    
                    (select least(q.run_at, to_timestamp(('x' || translate(left(q.event_id::text, 13), '-', ''))::bit(48)::bigint
                                                  / 1000.0)) as stored_at
                       from "hookonce".queue q
                      where q.attempts = 1 and q.lease_token is not null and q.topic = wanted.topic
                      order by q.event_id
                      limit 1)) found)
      from unnest(required) with ordinality as wanted (topic, nth)
     order by wanted.nth);
  expired := array(
    select distinct found.lane_id
      from (select q.lane_id
              from "hookonce".queue q
              join unnest(topics, types, oldest) as asked (topic, type, oldest) on asked.topic = q.topic and asked.type is not distinct from q.place
               and (asked.oldest is null or asked.oldest >= q.wait_until)
             where q.parked = 'waiting' and q.wait_until is not null and q.wait_until <= clock_timestamp()
             order by q.wait_until
             limit most) found);
  if cardinality(expired) = 0 then return; end if;
  perform "hookonce".lock_lanes(expired);

  for late in
    select q.event_id, q.run, q.attempts, q.number, q.place, q.policy, q.lane_id, l.mode, l.next,
           l.mode = 'after'
           or (not exists (select from "hookonce".queue a
                            where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting')
               and not exists (select from "hookonce".queue lower
                                where lower.lane_id = l.lane_id and lower.parked = 'waiting' and lower.number is not null
                                  and (lower.number, lower.event_id) < (q.number, q.event_id))) as is_first
      from "hookonce".lanes l
      join "hookonce".queue q on q.lane_id = l.lane_id and q.parked = 'waiting' and q.wait_until <= clock_timestamp()
      join unnest(topics, types, oldest) as asked (topic, type, oldest) on asked.topic = q.topic and asked.type is not distinct from q.place
               and (asked.oldest is null or asked.oldest >= q.wait_until)
     where l.lane_id = any(expired) and l.paused_at is null
  loop
    if not late.is_first then
      update "hookonce".queue q set wait_until = null where q.event_id = late.event_id and q.run = late.run;
      continue;
    end if;
    event_id := late.event_id;
    attempts := late.attempts;
    becomes := case late.policy when 'run' then 'ready' else 'dead' end;
    reason := case when late.mode = 'after' then format('no %s was done in its lane in time', late.place)
                   when late.next = late.number - 1 then format('number %s of its lane did not come in time', late.next)
                   else format('numbers %s to %s of its lane did not come in time', late.next, late.number - 1) end;
    if becomes = 'ready' then
      update "hookonce".lanes l set next = late.number where l.lane_id = late.lane_id and l.mode = 'sequence';
      update "hookonce".queue q
         set parked = null, parked_reason = null, wait_until = null, run_at = clock_timestamp()
       where q.event_id = late.event_id and q.run = late.run;
    else
      delete from "hookonce".queue q where q.event_id = late.event_id and q.run = late.run;
      insert into "hookonce".outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at, lane_id, place)
      values (late.event_id, late.run, 'dead', late.attempts, 0, reason, clock_timestamp(), late.lane_id, late.place);
      insert into "hookonce".attempts (event_id, run, attempt, reason, message, duration_ms, failed_at)
      values (late.event_id, late.run, late.attempts, 'order', reason, 0, clock_timestamp());
      if late.mode = 'sequence' then
        insert into "hookonce".lane_blocks (lane_id, event_id, run) values (late.lane_id, late.event_id, late.run);
        insert into "hookonce".lane_news (lane_id, event_id, is_blocked) values (late.lane_id, late.event_id, true);
      end if;
    end if;
    return next;
  end loop;
  perform "hookonce".mend_lanes(expired);
end
$pass_deadlines$;

create or replace function "hookonce".settle_resting(
  events uuid[], runs integer[], states text[], attempt_counts integer[], started_ago_ms float8[],
  durations_ms integer[], reasons text[], results text[])
returns bigint language plpgsql set enable_seqscan = off set jit = off set lock_timeout = '2s'
  set plan_cache_mode = force_generic_plan as $settle_resting$
declare
  rested  record;
  -- One moment for all: rows come in the order in which they lie in the table, which in a lane is often the wrong one.
  rest_at timestamptz := clock_timestamp();
begin
  with s as materialized (
         select *
           from unnest(events, runs, states, attempt_counts, started_ago_ms, durations_ms, reasons, results)
             as s (event_id, run, state, attempts, ago_ms, duration_ms, reason, result)),
       gone as (
         delete from "hookonce".queue q
          using s
          where q.event_id = any(events)
            and q.event_id = s.event_id and q.run = s.run and q.attempts = s.attempts - 1
         returning s.*, q.lane_id, q.number, q.place, q.policy),
       written as (
         insert into "hookonce".outcomes
                (event_id, run, state, attempts, started_at, duration_ms, reason, result, settled_at, lane_id, place)
         select event_id, run, state, attempts, rest_at - ago_ms * interval '1 millisecond', duration_ms, reason,
                result, rest_at, lane_id, place
           from gone)
  select count(*) as found, count(lane_id) as in_lanes, array_agg(event_id) as events, array_agg(run) as runs,
         array_agg(state) as states, array_agg(lane_id) as lanes, array_agg(number) as numbers,
         array_agg(place) as places, array_agg(policy) as policies
    into rested
    from gone;
  if rested.in_lanes > 0 then
    perform "hookonce".leave_lanes(rested.events, rested.runs, rested.states, rested.lanes, rested.numbers,
                                 rested.places, rested.policies);
  end if;
  return rested.found;
end
$settle_resting$;

create or replace function "hookonce".session_state(in_full boolean, own_names text[])
returns text language plpgsql as $session_state$
declare
  objects text;
  cursors text;
  channels text;
  settings text;
begin
  if pg_catalog.pg_my_temp_schema() <> 0 then
    select pg_catalog.string_agg(d.classid || ' ' || d.objid, ',' order by d.classid, d.objid)
      into objects
      from pg_catalog.pg_depend d
     where d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
       and d.refobjid = pg_catalog.pg_my_temp_schema();
  end if;
  select pg_catalog.string_agg(c.name, ',' order by c.name) into cursors
    from pg_catalog.pg_cursors c
   where c.name <> '';
  select pg_catalog.string_agg(c, ',' order by c) into channels
    from pg_catalog.pg_listening_channels() c;
  if in_full then
    select pg_catalog.json_object_agg(s.name, s.value) into settings
      from (select p.name, p.setting
              from pg_catalog.pg_settings p
             where p.source = 'session' and p.name not like 'hookonce.%' and p.name not in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout', 'synchronous_commit', 'transaction_isolation', 'transaction_read_only', 'transaction_deferrable')
             union all
            select n, pg_catalog.current_setting(n, true)
              from pg_catalog.unnest(own_names) n
             where pg_catalog.current_setting(n, true) <> ''
             union all
            select 'prepared statement ' || d.name, d.statement
              from pg_catalog.pg_prepared_statements d
             where d.from_sql) as s (name, value);
  end if;
  return pg_catalog.concat_ws(pg_catalog.chr(10),
    coalesce(pg_catalog.current_setting('session_authorization', true), ''),
    coalesce(pg_catalog.current_setting('role', true), ''),
    coalesce(pg_catalog.current_setting('search_path', true), ''),
    coalesce(pg_catalog.current_setting('row_security', true), ''),
    coalesce(pg_catalog.current_setting('session_replication_role', true), ''),
    coalesce(pg_catalog.current_setting('client_encoding', true), ''),
    coalesce(pg_catalog.current_setting('client_min_messages', true), ''),
    coalesce(pg_catalog.current_setting('array_nulls', true), ''),
    coalesce(pg_catalog.current_setting('statement_timeout', true), ''),
    coalesce(pg_catalog.current_setting('lock_timeout', true), ''),
    coalesce(pg_catalog.current_setting('idle_in_transaction_session_timeout', true), ''),
    coalesce(pg_catalog.current_setting('transaction_timeout', true), ''),
    coalesce(pg_catalog.current_setting('synchronous_commit', true), ''),
    coalesce(pg_catalog.current_setting('default_transaction_isolation', true), ''),
    coalesce(pg_catalog.current_setting('default_transaction_read_only', true), ''),
    coalesce(pg_catalog.current_setting('default_transaction_deferrable', true), ''),
    coalesce(pg_catalog.current_setting('TimeZone', true), ''),
    coalesce(pg_catalog.current_setting('DateStyle', true), ''),
    coalesce(objects, ''), coalesce(cursors, ''), coalesce(channels, ''),
    coalesce(settings, ''));
end
$session_state$;

-- Leases due events. Durable: a crash of the server that took the lease back would take the token back as well,
-- and give it to another worker while the first one still runs under it.
create or replace function "hookonce".lease_due(
  worker text, topics bigint[], limits integer[], lease_ms float8, alone_from integer, suspect_lock bigint,
  bytes_max bigint)
returns table (event_id uuid, token bigint)
language plpgsql as $lease_due$
#variable_conflict use_column
declare
  suspect  record;
  is_alone boolean;
begin
  perform "hookonce".require_settings();
  -- A worker without a record, or whose heart has stopped, would lose the lease at once.
  perform 1 from "hookonce".workers
    where worker_id = worker and beat_at > clock_timestamp() - lease_ms * interval '1 millisecond';
  if not found then return; end if;

  select q.event_id, q.run into suspect
    from "hookonce".queue q
   where q.parked is null and q.leasable and q.lease_token is null
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
     and q.topic = any(topics) and q.run_at <= (select clock_timestamp()) and q.crashes >= alone_from
   order by q.run_at, q.event_id
   limit 1
     for update skip locked;
  -- Whether one runs is asked after the lock is held, in a statement of its own: a snapshot from before would
  -- not see what the last holder of the lock has committed.
  is_alone := found and pg_try_advisory_xact_lock(suspect_lock);
  is_alone := is_alone and not exists (
    select from "hookonce".queue q where q.lease_token is not null and q.crashes >= alone_from);
  if is_alone then
    return query
    update "hookonce".queue q
       set attempts = q.attempts + 1, lease_token = nextval('"hookonce".lease_tokens'), lease_worker = worker,
           lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
     where q.event_id = suspect.event_id and q.run = suspect.run
    returning q.event_id, q.lease_token;
    return;
  end if;

  for i in 1 .. cardinality(topics) loop
    return query
    with c as materialized (
           select q.event_id, q.run, q.run_at
             from "hookonce".queue q
            where q.parked is null and q.leasable and q.lease_token is null
            and (select true
                   from "hookonce".lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null
              and q.topic = topics[i] and q.run_at <= (select clock_timestamp()) and q.crashes < alone_from
            order by q.run_at, q.event_id
            limit limits[i]
              for update skip locked),
         sized as materialized (
           select c.event_id, c.run,
                  sum(octet_length(e.body)) over so_far as bytes, row_number() over so_far as place
             from c
            cross join lateral (select body from "hookonce".events where id = c.event_id limit 1) e
           window so_far as (order by c.run_at, c.event_id rows unbounded preceding)),
         chosen as materialized (
           select event_id, run, place from sized where bytes <= bytes_max or place = 1 order by place)
    update "hookonce".queue q
       set attempts = q.attempts + 1, lease_token = nextval('"hookonce".lease_tokens'), lease_worker = worker,
           lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
      from chosen
     where q.event_id = chosen.event_id and q.run = chosen.run
    returning q.event_id, q.lease_token;
  end loop;
end
$lease_due$;

-- Writes what is known of outside calls. Returns those whose lease holds.
create or replace function "hookonce".write_calls(
  events uuid[], runs integer[], tokens bigint[], handlers text[], positions integer[], names text[],
  changes text[], results text[])
returns table (ord bigint, uncertain_ms float8)
language plpgsql as $write_calls$
#variable_conflict use_column
begin
  perform "hookonce".require_settings();
  return query
  with entry as materialized (
         select * from unnest(events, runs, tokens, handlers, positions, names, changes, results)
           with ordinality as e (event_id, run, token, handler, position, name, change, result, ord)),
       locked as materialized (
         select q.event_id, q.run, q.lease_token
           from "hookonce".queue q
          where q.event_id = any(events) and q.lease_token = any(tokens)
          order by q.event_id
            for share),
       -- An attempt that has lost its lease may ask beside the one that has it, of the same step.
       held as materialized (
         select entry.*
           from entry
           join locked on locked.event_id = entry.event_id and locked.run = entry.run
            and locked.lease_token = entry.token),
       written as (
         insert into "hookonce".steps as s
                (event_id, run, handler, position, kind, name, state, starts, started_at, result)
         select event_id, run, handler, position, 'call', name,
                case change when 'restarted' then 'started' else change end,
                case change when 'restarted' then 0 else 1 end, clock_timestamp(), result
           from held
             on conflict (event_id, run, handler, position) do update
            set state = excluded.state,
                starts = s.starts + (excluded.state = 'started')::integer,
                -- An insert with no starts is a restart: what was uncertain before is known not to have happened.
                started_at = case when excluded.state = 'started' and (s.state = 'refused' or excluded.starts = 0)
                                  then excluded.started_at else s.started_at end,
                result = excluded.result
          where s.state <> 'done' or (excluded.state = 'done' and s.result is not distinct from excluded.result)
         returning s.event_id, s.run, s.handler, s.position,
                   (extract(epoch from clock_timestamp() - s.started_at) * 1000)::float8 as uncertain_ms)
  select held.ord, written.uncertain_ms
    from held
    join written on written.event_id = held.event_id and written.run = held.run
     and written.handler = held.handler and written.position = held.position;
end
$write_calls$;

-- Makes sure of the leases, for as long as the transaction is open, and arms the fence against other COMMITs.
create or replace function "hookonce".open_steps(
  events uuid[], runs integer[], tokens bigint[], handlers text[], positions integer[], kinds text[], names text[])
returns table (ord bigint, pid integer, xid xid8)
language plpgsql as $open_steps$
#variable_conflict use_column
begin
  return query
  with entry as materialized (
         select * from unnest(events, runs, tokens, handlers, positions, kinds, names)
           with ordinality as e (event_id, run, token, handler, position, kind, name, ord)),
       locked as materialized (
         select q.event_id, q.run, q.lease_token
           from "hookonce".queue q
          where q.event_id = any(events) and q.lease_token = any(tokens)
          order by q.event_id
            for share),
       held as materialized (
         select entry.*
           from entry
           join locked on locked.event_id = entry.event_id and locked.run = entry.run
            and locked.lease_token = entry.token),
       opened as (
         insert into "hookonce".steps (event_id, run, handler, position, kind, name, state, started_at)
         select event_id, run, handler, position, kind, name, 'started', clock_timestamp()
           from held
         returning event_id, run, handler, position)
  select held.ord, pg_backend_pid(), pg_current_xact_id()
    from held
    join opened on opened.event_id = held.event_id and opened.run = held.run
     and opened.handler = held.handler and opened.position = held.position;
end
$open_steps$;

-- Keeps the results of the steps that ran, and takes back the others.
create or replace function "hookonce".finish_steps(
  events uuid[], runs integer[], handlers text[], positions integer[], ran boolean[], results text[])
returns void language plpgsql as $finish_steps$
declare
  kept integer;
begin
  update "hookonce".steps s
     set state = 'done', result = e.result
    from unnest(events, runs, handlers, positions, ran, results)
      as e (event_id, run, handler, position, ran, result)
   where e.ran and s.event_id = any(events)
     and s.event_id = e.event_id and s.run = e.run and s.handler = e.handler and s.position = e.position
     and s.state = 'started';
  get diagnostics kept = row_count;
  if kept <> cardinality(array_positions(ran, true)) then
    raise exception 'this is not the transaction that the steps were opened in'
      using errcode = 'invalid_transaction_termination';
  end if;
  if kept < cardinality(ran) then
    delete from "hookonce".steps s
     using unnest(events, runs, handlers, positions) as e (event_id, run, handler, position)
     where s.event_id = e.event_id and s.run = e.run and s.handler = e.handler and s.position = e.position
       and s.state = 'started';
  end if;
end
$finish_steps$;

-- Writes what became of leased events. Returns those whose lease held.
create or replace function "hookonce".settle_leased(
  events uuid[], runs integer[], tokens bigint[], states text[], attempt_counts integer[],
  started_ago_ms float8[], durations_ms integer[], reasons text[], results text[], retries_ms float8[],
  failure_reasons text[], failure_messages text[], failure_durations_ms integer[], failed_ago_ms float8[],
  handlers text[], stacks text[], causes text[], freed uuid[], freed_sources text[], freed_keys text[],
  freed_types text[], freed_by uuid[], freed_ords bigint[])
returns table (ord bigint)
language plpgsql as $settle_leased$
#variable_conflict use_column
declare
  settled record;
  in_order uuid[];
  paused uuid[];
begin
  perform "hookonce".require_settings();
  -- All of them at once, in their order, before the first is changed.
  select coalesce(array_agg(l.lane_id) filter (where l.mode <> 'after'), '{}'),
         coalesce(array_agg(l.lane_id) filter (where l.mode = 'after' and l.paused_at is not null), '{}')
    into in_order, paused
    from "hookonce".queue q
    join "hookonce".lanes l on l.lane_id = q.lane_id
   where q.event_id = any(events);
  if cardinality(in_order) > 0 then perform "hookonce".lock_lanes(in_order); end if;
  with s as materialized (
         select *, clock_timestamp() - s.ago_ms * interval '1 millisecond' as started_at
           from unnest(events, runs, tokens, states, attempt_counts, started_ago_ms, durations_ms, reasons, results,
                       retries_ms, failure_reasons, failure_messages, failure_durations_ms, failed_ago_ms, handlers,
                       stacks, causes)
           with ordinality as s (event_id, run, token, state, attempt, ago_ms, duration_ms, reason, result, retry_ms,
                                 failure_reason, failure_message, failure_ms, failure_ago_ms, handler, stack, cause,
                                 ord)),
       locked as materialized (
         select q.event_id, q.run, q.lease_token, q.lane_id, q.number, q.place, q.policy
           from "hookonce".queue q
          where q.event_id = any(events) and q.lease_token = any(tokens)
          order by q.event_id
            for update),
       held as materialized (
         select s.*, locked.lane_id, locked.number, locked.place, locked.policy
           from s
           join locked on locked.event_id = s.event_id and locked.run = s.run and locked.lease_token = s.token),
       gone as (
         delete from "hookonce".queue q
          using held
          where q.event_id = any(events) and q.event_id = held.event_id and q.run = held.run
            and held.state in ('done', 'skipped', 'dead')),
       rested as (
         insert into "hookonce".outcomes
                (event_id, run, state, attempts, started_at, duration_ms, reason, result, settled_at, lane_id, place)
         select event_id, run, state, attempt, started_at, duration_ms, reason, result, clock_timestamp(),
                lane_id, place
           from held
          where state in ('done', 'skipped', 'dead')),
       kept as (
         update "hookonce".queue q
            set lease_token = null, lease_worker = null, lease_until = null,
                attempts = q.attempts - (held.state <> 'ready')::integer,
                leasable = held.state in ('ready', 'given-back'),
                run_at = clock_timestamp() + coalesce(held.retry_ms, 0) * interval '1 millisecond',
                parked = case held.state when 'unhandled' then 'unhandled' end,
                parked_reason = case held.state when 'unhandled' then 'no handler for its type' end
           from held
          where q.event_id = any(events) and q.event_id = held.event_id and q.run = held.run
            and held.state in ('ready', 'given-back', 'regrouped', 'unhandled')),
       noted as (
         insert into "hookonce".attempts
                (event_id, run, attempt, reason, message, duration_ms, handler, stack, cause, started_at, failed_at)
         select event_id, run, attempt, failure_reason, failure_message, failure_ms, handler, stack, cause,
                started_at, clock_timestamp() - failure_ago_ms * interval '1 millisecond'
           from held
          where failure_reason is not null)
  select array_agg(ord) as ords,
         array_agg(event_id) filter (where is_left) as events, array_agg(run) filter (where is_left) as runs,
         array_agg(state) filter (where is_left) as states, array_agg(lane_id) filter (where is_left) as lanes,
         array_agg(number) filter (where is_left) as numbers, array_agg(place) filter (where is_left) as places,
         array_agg(policy) filter (where is_left) as policies
    into settled
    from (select *, lane_id is not null and state in ('done', 'skipped', 'dead') as is_left from held) held;
  if settled.lanes is not null then
    perform "hookonce".leave_lanes(settled.events, settled.runs, settled.states, settled.lanes, settled.numbers,
                                 settled.places, settled.policies);
  end if;
  if cardinality(in_order) > 0 then perform "hookonce".mend_lanes(in_order); end if;
  if cardinality(paused) > 0 then perform "hookonce".mend_lanes(paused); end if;
  if cardinality(freed) > 0 then
    perform "hookonce".free_lanes(
      array_agg(f.lane_id), array_agg(f.source), array_agg(f.key), array_agg(f.type), array_agg(f.event_id))
       from unnest(freed, freed_sources, freed_keys, freed_types, freed_by, freed_ords)
         as f (lane_id, source, key, type, event_id, ord)
      where f.ord = any(settled.ords)
     having count(*) > 0;
  end if;
  return query select unnest(settled.ords);
end
$settle_leased$;

create or replace function "hookonce".claim_once(
  new_id uuid, new_source text, new_key bytea, new_type text, new_hash bytea, new_fingerprint bytea, new_body bytea,
  new_headers text, new_is_text boolean, may_wait boolean)
returns text
language plpgsql as $claim_once$
declare
  user_lock_timeout text := current_setting('lock_timeout');
  claimed integer;
  owner record;
begin
  for tries in 1..3 loop
    if may_wait then
      insert into "hookonce".keys (hash, event_id, fingerprint)
      values (new_hash, new_id, new_fingerprint)
          on conflict do nothing;
      get diagnostics claimed = row_count;
    else
      begin
        perform set_config('lock_timeout', '1', true);
        insert into "hookonce".keys (hash, event_id, fingerprint)
        values (new_hash, new_id, new_fingerprint)
            on conflict do nothing;
        get diagnostics claimed = row_count;
        perform set_config('lock_timeout', user_lock_timeout, true);
      exception when lock_not_available then
        return json_build_object('owner', null)::text;
      end;
    end if;
    if claimed = 1 then
      insert into "hookonce".events
             (id, source, event_key, type, topic, key_hash, body, headers, received_at, verified_by, is_text)
      values (new_id, new_source, new_key, new_type, -1, new_hash, new_body, new_headers, clock_timestamp(), 'once',
              new_is_text);
      return json_build_object('owner', new_id)::text;
    end if;
    select k.event_id, encode(k.fingerprint, 'hex') as fingerprint, o.state, o.result
      into owner
      from "hookonce".keys k
      left join lateral (select state, result
                           from "hookonce".outcomes
                          where outcomes.event_id = k.event_id
                          order by run desc
                          limit 1) o on true
     where k.hash = new_hash;
    if found then
      perform pg_logical_emit_message(true, 'hookonce', '');
      return json_build_object('owner', owner.event_id, 'fingerprint', owner.fingerprint,
                               'state', owner.state, 'result', owner.result)::text;
    end if;
    -- The key was pruned or forgotten between the two.
  end loop;
  raise 'the key was dropped while it was being claimed' using errcode = 'serialization_failure';
end
$claim_once$;

create or replace function "hookonce".lock_message_lanes(lanes uuid[])
returns void
language sql as $lock_message_lanes$
  -- In one order, so that two that lock several do not wait for each other.
  select pg_advisory_xact_lock(lane.number)
    from (select distinct hashtextextended(id::text, 0) as number from unnest(lanes) as l (id) order by 1) lane
$lock_message_lanes$;

create or replace function "hookonce".free_message_lanes(lanes uuid[])
returns void
language plpgsql set enable_seqscan = off set jit = off as $free_message_lanes$
begin
  update "hookonce".message_queue q
     set send_at = clock_timestamp()
    from (select (select h.message_id
                    from "hookonce".message_queue h
                   where h.lane_id = l.id
                   order by h.lane_position
                   limit 1) as message_id
            from unnest(lanes) as l (id)
           where not exists (select from "hookonce".message_lane_blocks b where b.lane_id = l.id)
             and not exists (select from "hookonce".message_queue h
                              where h.lane_id = l.id and h.lease_token is not null)) head
   where q.message_id = head.message_id and q.send_at is null;
end
$free_message_lanes$;

create or replace function "hookonce".enqueue_messages(
  ids uuid[], destinations text[], keys text[], event_ids uuid[], content_types text[], header_texts text[],
  bodies bytea[], delays_ms bigint[], lanes text[], lane_ids uuid[])
returns void
language plpgsql as $enqueue_messages$
begin
  with draft as materialized (
         -- Numbered in the order of the list; the rows are inserted in that of their keys.
         select *, case when lane_id is not null then nextval('"hookonce".message_lane_positions') end as lane_position
           from unnest(ids, destinations, keys, event_ids, content_types, header_texts, bodies, delays_ms, lanes,
                       lane_ids)
             as draft (id, destination, key, event_id, content_type, headers, body, delay_ms, lane_key, lane_id)),
       stored as (
         insert into "hookonce".messages
                (id, destination, key, event_id, content_type, headers, body, created_at, lane_key, lane_id,
                 lane_position)
         select d.id, d.destination, d.key, d.event_id, d.content_type, d.headers, d.body, clock_timestamp(),
                d.lane_key, d.lane_id, d.lane_position
           from draft d
          order by d.destination, d.key
             on conflict (destination, key) do nothing
         returning messages.id)
  insert into "hookonce".message_queue (message_id, destination, send_at, lane_id, lane_position)
  select d.id, d.destination, clock_timestamp() + d.delay_ms * interval '1 millisecond', d.lane_id, d.lane_position
    from draft d
    join stored s on s.id = d.id;
end
$enqueue_messages$;

create or replace function "hookonce".claim_messages(names text[], limits integer[], ages_ms bigint[], lease_ms bigint)
returns table (
  id uuid, destination text, key text, event_id uuid, content_type text, headers text, body text,
  created_at bigint, attempts integer, takeovers integer, token bigint, uncertain_for_ms bigint, answer text, same_answers integer,
  due_for_ms bigint)
language plpgsql as $claim_messages$
#variable_conflict use_column
declare
  -- A variable, since PostgreSQL uses no index for a comparison with a function that changes as it runs.
  due_by    timestamptz := clock_timestamp();
  low_water      timestamptz;
  taken     uuid[];
  in_lanes  uuid[];
  lanes     uuid[];
  left_out  uuid[];
  behind    uuid[];
  first_due timestamptz;
begin
  perform "hookonce".require_settings();
  for i in 1 .. cardinality(names) loop
    continue when exists (select from "hookonce".pauses p where p.kind = 'destination' and p.name = names[i]);
    low_water := coalesce(due_by - ages_ms[i] * interval '1 millisecond', '-infinity');
    for look in 1 .. 10 loop
      select array_agg(due.message_id), min(due.send_at),
             -- What is taken over from a relay that is gone is the one of its lane that was on its way.
             array_agg(due.message_id) filter (where due.lane_id is not null and due.lease_token is null)
        into taken, first_due, in_lanes
        from (select q.message_id, q.send_at, q.lane_id, q.lease_token
                from "hookonce".message_queue q
               where q.destination = names[i]
                 and q.send_at >= low_water
                 and q.send_at <= due_by
               order by q.send_at, q.message_id
               limit limits[i]
                 for update skip locked) due;
      exit when in_lanes is null;
      -- One that is being claimed from or settled in is left alone: it will be looked at again.
      lanes := array(select l.lane_id
                       from (select distinct q.lane_id
                               from "hookonce".message_queue q
                              where q.message_id = any(in_lanes)) l
                      where pg_try_advisory_xact_lock(hashtextextended(l.lane_id::text, 0)));
      -- A statement of its own, so that it sees what was committed before the locks were given.
      select array_agg(q.message_id), array_agg(q.message_id) filter (where q.lane_id = any(lanes))
        into left_out, behind
        from "hookonce".message_queue q
       where q.message_id = any(in_lanes)
         and (q.lane_id <> all(lanes)
              or exists (select from "hookonce".message_queue e
                          where e.lane_id = q.lane_id and e.lane_position < q.lane_position)
              or exists (select from "hookonce".message_queue e
                          where e.lane_id = q.lane_id and e.lease_token is not null)
              or exists (select from "hookonce".message_lane_blocks b where b.lane_id = q.lane_id));
      exit when left_out is null;
      update "hookonce".message_queue q set send_at = null where q.message_id = any(behind);
      taken := nullif(array(select t.id from unnest(taken) as t (id) where t.id <> all(left_out)), '{}');
      exit when taken is not null or behind is null;
    end loop;
    continue when taken is null;
    return query
    with claimed as (
           update "hookonce".message_queue q
              set lease_token = nextval('"hookonce".message_lease_tokens'),
                  claimed_at = clock_timestamp(),
                  send_at = clock_timestamp() + lease_ms * interval '1 millisecond',
                  attempts = q.attempts + 1,
                  takeovers = q.takeovers + (q.lease_token is not null)::integer,
                  uncertain_since = case when q.lease_token is null then q.uncertain_since
                                         else coalesce(q.uncertain_since, q.claimed_at) end
            where q.message_id = any(taken)
           returning q.*)
    select m.id, m.destination, m.key, m.event_id, m.content_type, m.headers, encode(m.body, 'hex'),
           (extract(epoch from m.created_at) * 1000)::bigint, c.attempts, c.takeovers,
           c.lease_token,
           (extract(epoch from c.claimed_at - c.uncertain_since) * 1000)::bigint, c.answer, c.same_answers,
           (extract(epoch from due_by - first_due) * 1000)::bigint
      from claimed c
      join "hookonce".messages m on m.id = c.message_id
     where m.id = any(taken)
     order by m.id;
  end loop;
end
$claim_messages$;

create or replace function "hookonce".settle_messages(
  ids uuid[], tokens bigint[], states text[], reasons text[], doubts text[], retries_ms bigint[], answers text[],
  same_answer_counts integer[], failure_reasons text[], failure_messages text[], durations_ms integer[],
  statuses integer[], heads text[], bodies bytea[], blocks boolean[])
returns setof bigint
language plpgsql as $settle_messages$
#variable_conflict use_column
declare
  lanes uuid[];
begin
  perform "hookonce".require_settings();
  lanes := array(select distinct q.lane_id
                   from "hookonce".message_queue q
                  where q.message_id = any(ids) and q.lane_id is not null);
  perform "hookonce".lock_message_lanes(lanes);
  return query
  with s as materialized (
         select *
           from unnest(ids, tokens, states, reasons, doubts, retries_ms, answers, same_answer_counts,
                       failure_reasons, failure_messages, durations_ms, statuses, heads, bodies, blocks)
             as s (id, token, state, reason, doubt, retry_ms, answer, same_answers, failure_reason,
                   failure_message, duration_ms, status, head, body, blocks_lane)),
       held as materialized (
         select s.*, q.lane_id,
                case when s.state = 'given-back' or (s.state = 'unknown' and s.failure_reason is null)
                     then q.attempts - 1 else q.attempts end as attempts,
                case s.doubt when 'since-claim' then coalesce(q.uncertain_since, q.claimed_at)
                             when 'cleared' then null
                             else q.uncertain_since end as uncertain_since
           from s
           join "hookonce".message_queue q on q.message_id = s.id and q.lease_token = s.token
          where q.message_id = any(ids)
            for update of q),
       ended as (
         delete from "hookonce".message_queue q
          using held h
          where q.message_id = h.id and h.state in ('sent', 'dead', 'unknown')),
       requeued as (
         update "hookonce".message_queue q
            set send_at = clock_timestamp() + h.retry_ms * interval '1 millisecond',
                lease_token = null,
                claimed_at = null,
                attempts = h.attempts,
                uncertain_since = h.uncertain_since,
                answer = case when h.state = 'ready' then h.answer else q.answer end,
                same_answers = case when h.state = 'ready' then h.same_answers else q.same_answers end
           from held h
          where q.message_id = h.id and h.state in ('ready', 'given-back')),
       outcome as (
         insert into "hookonce".message_outcomes
                (message_id, state, attempts, reason, uncertain_since, status, response_head, response_body,
                 settled_at)
         select id, state, attempts, reason, case when state <> 'sent' then uncertain_since end,
                case when state = 'sent' then status end, case when state = 'sent' then head end,
                case when state = 'sent' then body end, clock_timestamp()
           from held
          where state in ('sent', 'dead', 'unknown')),
       blocked as (
         insert into "hookonce".message_lane_blocks (message_id, lane_id)
         select id, lane_id
           from held
          where state in ('dead', 'unknown') and blocks_lane and lane_id is not null),
       failed as (
         insert into "hookonce".message_attempts
                (message_id, attempt, reason, message, status, response_head, response_body, duration_ms,
                 failed_at)
         select id, attempts, failure_reason, failure_message, status, head, body, duration_ms, clock_timestamp()
           from held
          where failure_reason is not null)
  select token from held;
  if cardinality(lanes) > 0 then perform "hookonce".free_message_lanes(lanes); end if;
end
$settle_messages$;

create or replace function "hookonce".lowest_id_at(ms float8)
returns uuid
language sql immutable as $lowest_id_at$
  select rpad(lpad(to_hex(greatest(coalesce(ms, 0), 0)::bigint), 12, '0'), 32, '0')::uuid
$lowest_id_at$;

create or replace function "hookonce".prune_begin()
returns void
language plpgsql as $prune_begin$
begin
  perform from "hookonce".meta where name = 'prune' for update skip locked;
  if not found then
    raise 'another pruner is at work' using errcode = 'lock_not_available';
  end if;
end
$prune_begin$;

create or replace function "hookonce".prune_survey(limits jsonb)
returns jsonb
language plpgsql as $prune_survey$
declare
  events_before uuid := "hookonce".lowest_id_at(greatest((limits ->> 'done')::float8, (limits ->> 'skipped')::float8,
                                                       (limits ->> 'discarded')::float8));
  keys_before uuid := "hookonce".lowest_id_at((limits ->> 'keys')::float8);
begin
  return jsonb_build_object(
    'events', jsonb_build_object(
      'there', (select count(*) from "hookonce".events),
      'old', greatest(0, (select count(*) from "hookonce".events where id < events_before)
                         - (select count(*) from "hookonce".outcomes
                             where state = 'dead' and event_id < events_before)
                         - (select count(*) from "hookonce".queue where event_id < events_before))),
    'keys', jsonb_build_object(
      'there', (select count(*) from "hookonce".outcomes),
      'old', greatest(0, (select count(*) from "hookonce".outcomes where event_id < keys_before)
                         - (select count(*) from "hookonce".outcomes
                             where state = 'dead' and event_id < keys_before)
                         - (select count(*) from "hookonce".queue where event_id < keys_before and run > 0))));
end
$prune_survey$;

create or replace function "hookonce".prune_dead(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set jit = off as $prune_dead$
declare
  discarded integer;
begin
  perform "hookonce".prune_begin();
  with held as materialized (
         select o.event_id, o.run
           from "hookonce".outcomes o
          where o.state = 'dead' and o.settled_at < to_timestamp((limits ->> 'dead')::float8 / 1000)
          limit most
            for update skip locked)
  update "hookonce".outcomes o
     set state = 'discarded'
    from held
   where o.event_id = held.event_id and o.run = held.run;
  get diagnostics discarded = row_count;
  -- What was discarded is not found again, so that the next step begins where this one did.
  return jsonb_build_object('removed', jsonb_build_object('discarded', discarded),
                            'next', case when discarded = most then after_id end);
end
$prune_dead$;

create or replace function "hookonce".prune_payloads(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_payloads$
declare
  page uuid[];
  held uuid[];
  gone uuid[];
  requests uuid[];
  removed_requests integer;
  removed_attempts integer;
  removed_steps integer;
  removed_deliveries integer;
  before_id uuid := "hookonce".lowest_id_at(greatest((limits ->> 'done')::float8, (limits ->> 'skipped')::float8,
                                                   (limits ->> 'discarded')::float8));
begin
  perform "hookonce".prune_begin();
  page := array(select e.id
                  from "hookonce".events e
                 where e.id > after_id and e.id < before_id
                 order by e.id
                 limit most);
  held := array(select e.id
                  from "hookonce".events e
                 where e.id = any(page)
                   for update skip locked);
  with removed as (
         delete from "hookonce".events e
          where e.id = any(held)
            and exists (select from "hookonce".outcomes o where o.event_id = e.id and 
         o.state <> 'dead'
     and o.settled_at < to_timestamp((limits ->> o.state)::float8 / 1000)
     and o.run = (select max(l.run) from "hookonce".outcomes l where l.event_id = o.event_id))
            and 
         not exists (select from "hookonce".queue q where q.event_id = e.id)
     and not exists (select
                       from "hookonce".messages m
                       left join "hookonce".message_outcomes x on x.message_id = m.id
                      where m.event_id = e.id
                        and coalesce(x.state, 'queued') not in ('sent', 'discarded'))
         returning e.id, e.request_id)
  select coalesce(array_agg(removed.id), '{}'), array_agg(removed.request_id)
    into gone, requests
    from removed;
  delete from "hookonce".requests r
   where r.id = any(requests)
     and not exists (select from "hookonce".events e where e.request_id = r.id);
  get diagnostics removed_requests = row_count;
  delete from "hookonce".attempts a where a.event_id = any(gone);
  get diagnostics removed_attempts = row_count;
  delete from "hookonce".steps s where s.event_id = any(gone);
  get diagnostics removed_steps = row_count;
  delete from "hookonce".deliveries d where d.event_id = any(gone);
  get diagnostics removed_deliveries = row_count;
  return jsonb_build_object(
    'removed', jsonb_build_object('events', cardinality(gone), 'requests', removed_requests,
                                  'attempts', removed_attempts, 'steps', removed_steps,
                                  'deliveries', removed_deliveries),
    'next', page[most]);
end
$prune_payloads$;

create or replace function "hookonce".prune_attempts(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_attempts$
declare
  page uuid[];
  removed integer;
begin
  perform "hookonce".prune_begin();
  page := array(select distinct b.event_id
                  from "hookonce".attempts b
                 where b.event_id > after_id
                 order by b.event_id
                 limit most);
  delete from "hookonce".attempts b
   where b.event_id = any(page)
     and not exists (select from "hookonce".queue q where q.event_id = b.event_id)
     and (not exists (select from "hookonce".events e where e.id = b.event_id)
          or exists (select
                       from "hookonce".outcomes o
                      where o.event_id = b.event_id and o.state <> 'dead'
                        and o.settled_at < to_timestamp((limits ->> 'attempts')::float8 / 1000)
                        and o.run = (select max(l.run) from "hookonce".outcomes l where l.event_id = o.event_id)));
  get diagnostics removed = row_count;
  return jsonb_build_object('removed', jsonb_build_object('attempts', removed), 'next', page[most]);
end
$prune_attempts$;

create or replace function "hookonce".prune_steps(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_steps$
declare
  page uuid[];
  removed integer;
begin
  perform "hookonce".prune_begin();
  page := array(select distinct b.event_id
                  from "hookonce".steps b
                 where b.event_id > after_id
                 order by b.event_id
                 limit most);
  delete from "hookonce".steps b
   where b.event_id = any(page)
     and not exists (select from "hookonce".queue q where q.event_id = b.event_id)
     and (not exists (select from "hookonce".events e where e.id = b.event_id)
          or exists (select
                       from "hookonce".outcomes o
                      where o.event_id = b.event_id and o.state <> 'dead'
                        and o.settled_at < to_timestamp((limits ->> 'steps')::float8 / 1000)
                        and o.run = (select max(l.run) from "hookonce".outcomes l where l.event_id = o.event_id)));
  get diagnostics removed = row_count;
  return jsonb_build_object('removed', jsonb_build_object('steps', removed), 'next', page[most]);
end
$prune_steps$;

create or replace function "hookonce".prune_deliveries(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_deliveries$
declare
  page uuid[];
  removed integer;
begin
  perform "hookonce".prune_begin();
  page := array(select distinct b.event_id
                  from "hookonce".deliveries b
                 where b.event_id > after_id
                 order by b.event_id
                 limit most);
  delete from "hookonce".deliveries b
   where b.event_id = any(page)
     and not exists (select from "hookonce".queue q where q.event_id = b.event_id)
     and (not exists (select from "hookonce".events e where e.id = b.event_id)
          or exists (select
                       from "hookonce".outcomes o
                      where o.event_id = b.event_id and o.state <> 'dead'
                        and o.settled_at < to_timestamp((limits ->> 'deliveries')::float8 / 1000)
                        and o.run = (select max(l.run) from "hookonce".outcomes l where l.event_id = o.event_id)));
  get diagnostics removed = row_count;
  return jsonb_build_object('removed', jsonb_build_object('deliveries', removed), 'next', page[most]);
end
$prune_deliveries$;

create or replace function "hookonce".prune_runs(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_runs$
declare
  page uuid[];
  removed integer;
begin
  perform "hookonce".prune_begin();
  page := array(select distinct b.event_id
                  from "hookonce".runs b
                 where b.event_id > after_id
                 order by b.event_id
                 limit most);
  delete from "hookonce".runs b
   where b.event_id = any(page)
     and not exists (select from "hookonce".queue q where q.event_id = b.event_id)
     and (not exists (select from "hookonce".events e where e.id = b.event_id)
          or exists (select
                       from "hookonce".outcomes o
                      where o.event_id = b.event_id and o.state <> 'dead'
                        and o.settled_at < to_timestamp((limits ->> 'runs')::float8 / 1000)
                        and o.run = (select max(l.run) from "hookonce".outcomes l where l.event_id = o.event_id)));
  get diagnostics removed = row_count;
  return jsonb_build_object('removed', jsonb_build_object('runs', removed), 'next', page[most]);
end
$prune_runs$;

create or replace function "hookonce".prune_messages(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_messages$
declare
  page uuid[];
  held uuid[];
  gone uuid[];
begin
  perform "hookonce".prune_begin();
  page := array(select x.message_id
                  from "hookonce".message_outcomes x
                 where x.message_id > after_id
                   and x.message_id < "hookonce".lowest_id_at((limits ->> 'messages')::float8)
                 order by x.message_id
                 limit most);
  held := array(select x.message_id
                  from "hookonce".message_outcomes x
                 where x.message_id = any(page) and x.state in ('sent', 'discarded')
                   and x.settled_at < to_timestamp((limits ->> 'messages')::float8 / 1000)
                   for update skip locked);
  with removed as (
         delete from "hookonce".messages m
          where m.id = any(held)
            and not exists (select from "hookonce".queue q where q.event_id = m.event_id)
            and not exists (select from "hookonce".outcomes o where o.event_id = m.event_id and o.state = 'dead')
         returning m.id)
  select coalesce(array_agg(removed.id), '{}') into gone from removed;
  delete from "hookonce".message_outcomes x where x.message_id = any(gone);
  delete from "hookonce".message_attempts a where a.message_id = any(gone);
  return jsonb_build_object('removed', jsonb_build_object('messages', cardinality(gone)), 'next', page[most]);
end
$prune_messages$;

create or replace function "hookonce".prune_audit(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_audit$
declare
  removed integer;
begin
  perform "hookonce".prune_begin();
  with old as materialized (
         select a.id, a.acted_at
           from "hookonce".audit a
          order by a.id
          limit most
            for update skip locked)
  delete from "hookonce".audit a
   using old
   where a.id = old.id and old.acted_at < to_timestamp((limits ->> 'audit')::float8 / 1000);
  get diagnostics removed = row_count;
  return jsonb_build_object('removed', jsonb_build_object('audit', removed),
                            'next', case when removed = most then after_id end);
end
$prune_audit$;

create or replace function "hookonce".prune_bulks(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_bulks$
declare
  before_at timestamptz := to_timestamp((limits ->> 'audit')::float8 / 1000);
  old uuid;
  removed integer;
begin
  perform "hookonce".prune_begin();
  select b.id into old
    from "hookonce".bulks b
   where b.state = 'pruned'
      or (b.created_at < before_at
          and not exists (select from "hookonce".bulk_events e where e.bulk_id = b.id and e.acted_at >= before_at))
   order by b.id
   limit 1
     for update skip locked;
  if old is null then
    return jsonb_build_object('removed', jsonb_build_object('bulks', 0), 'next', null);
  end if;
  update "hookonce".bulks b set state = 'pruned' where b.id = old and b.state <> 'pruned';
  delete from "hookonce".bulk_events e
   where e.bulk_id = old
     and e.event_id = any(array(select l.event_id
                                  from "hookonce".bulk_events l
                                 where l.bulk_id = old
                                 order by l.event_id
                                 limit most));
  get diagnostics removed = row_count;
  if removed < most then
    delete from "hookonce".bulks b where b.id = old;
  end if;
  return jsonb_build_object('removed', jsonb_build_object('bulks', (removed < most)::integer), 'next', after_id);
end
$prune_bulks$;

create or replace function "hookonce".prune_keys(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_keys$
declare
  page uuid[];
  held uuid[];
  ripe uuid[];
  removed_keys integer;
  removed_outcomes integer;
begin
  perform "hookonce".prune_begin();
  page := array(select o.event_id
                  from "hookonce".outcomes o
                 where o.event_id > after_id
                   and o.event_id < "hookonce".lowest_id_at((limits ->> 'keys')::float8)
                 order by o.event_id
                 limit most);
  held := array(select o.event_id
                  from "hookonce".outcomes o
                 where o.event_id = any(page) and o.state <> 'dead'
                   and o.settled_at < to_timestamp((limits ->> 'keys')::float8 / 1000)
                   and o.run = (select max(l.run) from "hookonce".outcomes l where l.event_id = o.event_id)
                   for update skip locked);
  ripe := array(select h.event_id
                  from unnest(held) as h (event_id)
                 where 
         not exists (select from "hookonce".queue q where q.event_id = h.event_id)
     and not exists (select
                       from "hookonce".messages m
                       left join "hookonce".message_outcomes x on x.message_id = m.id
                      where m.event_id = h.event_id
                        and coalesce(x.state, 'queued') not in ('sent', 'discarded')));
  delete from "hookonce".keys k where k.event_id = any(ripe);
  get diagnostics removed_keys = row_count;
  if removed_keys > 0 then
    update "hookonce".meta set value = gen_random_uuid()::text where name = 'epoch';
    insert into "hookonce".meta (name, value)
    values ('forgotten_before', ((limits ->> 'keys')::float8)::bigint::text)
        on conflict (name) do update
       set value = greatest(meta.value::bigint, excluded.value::bigint)::text;
  end if;
  delete from "hookonce".outcomes o
   where o.event_id = any(ripe)
     and not exists (select from "hookonce".events e where e.id = o.event_id);
  get diagnostics removed_outcomes = row_count;
  return jsonb_build_object(
    'removed', jsonb_build_object('keys', removed_keys, 'outcomes', removed_outcomes),
    'next', page[most]);
end
$prune_keys$;

create or replace function "hookonce".prune_lanes(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_lanes$
declare
  page uuid[];
  held uuid[];
  ripe uuid[];
  -- As late as its last use may be written down, see mend-lanes.ts.
  used_before timestamptz := to_timestamp((limits ->> 'keys')::float8 / 1000) - interval '1 hour';
begin
  perform "hookonce".prune_begin();
  page := array(select l.lane_id from "hookonce".lanes l where l.lane_id > after_id order by l.lane_id limit most);
  held := array(select l.lane_id
                  from "hookonce".lanes l
                 where l.lane_id = any(page) and l.paused_at is null
                   and l.used_at < used_before
                   for update skip locked);
  ripe := array(select h.lane_id
                  from unnest(held) as h (lane_id)
                 where not exists (select from "hookonce".queue q
                                    where q.lane_id = h.lane_id and q.lane_id is not null
                                      and q.parked is distinct from 'waiting')
                   and not exists (select from "hookonce".queue q where q.lane_id = h.lane_id and q.parked = 'waiting')
                   and not exists (select from "hookonce".lane_blocks b where b.lane_id = h.lane_id));
  delete from "hookonce".lane_facts f where f.lane_id = any(ripe);
  delete from "hookonce".lanes l where l.lane_id = any(ripe);
  return jsonb_build_object('removed', jsonb_build_object('lanes', cardinality(ripe)), 'next', page[most]);
end
$prune_lanes$;

create or replace function "hookonce".is_prune_excessive(share jsonb, limit_ms float8, last jsonb, usual float8)
returns boolean
language plpgsql as $is_prune_excessive$
declare
  day_ms constant float8 := 86400000;
  now_ms float8 := extract(epoch from clock_timestamp()) * 1000;
  pause_ms float8 := now_ms - (last ->> 'atMs')::float8;
  old float8 := (share ->> 'old')::float8;
  there float8 := (share ->> 'there')::float8;
  expected float8 := case when limit_ms is null then 0
                          else day_ms / greatest(day_ms, now_ms - limit_ms) end;
begin
  if pause_ms < 0 or pause_ms > 8 * day_ms then
    return old > there * 0.2;
  end if;
  return old > greatest(1000, usual * 2) and old > there * greatest(0.2, expected * 3);
end
$is_prune_excessive$;

create or replace function "hookonce".prune()
returns jsonb
language plpgsql as $prune$
declare
  day_ms constant float8 := 86400000;
  steps constant integer := 10;
  step_rows constant integer := 1000;
  policy jsonb := (select value from "hookonce".meta where name = 'retention')::jsonb;
  last jsonb;
  now_ms float8 := extract(epoch from clock_timestamp()) * 1000;
  limits jsonb;
  survey jsonb;
  removed jsonb := '{}';
  part text;
  after_id uuid;
  step jsonb;
  is_more boolean := false;
  fades float8;
begin
  perform "hookonce".prune_begin();
  if policy is null then
    return jsonb_build_object('status', 'refused', 'code', 'RETENTION_UNKNOWN',
      'reason', 'No inbox has written down on this database how long things are kept',
      'instead', 'Start an inbox once');
  end if;
  select value::jsonb into last from "hookonce".meta where name = 'prune';
  select jsonb_object_agg(days.part, case when policy ->> days.option <> 'forever'
                                          then now_ms - (policy ->> days.option)::float8 * day_ms end)
    into limits
    from (values ('done', 'doneDays'), ('skipped', 'skippedDays'), ('discarded', 'discardedDays'),
                 ('dead', 'deadDays'), ('attempts', 'attemptsDays'), ('steps', 'stepsDays'),
                 ('deliveries', 'deliveriesDays'), ('messages', 'messagesDays'), ('audit', 'auditDays'),
                 ('keys', 'keysDays'))
         as days (part, option);
  survey := "hookonce".prune_survey(limits);
  if "hookonce".is_prune_excessive(survey -> 'events', greatest((limits ->> 'done')::float8,
                                 (limits ->> 'skipped')::float8, (limits ->> 'discarded')::float8),
                                 last, (last ->> 'usualEvents')::float8)
     or "hookonce".is_prune_excessive(survey -> 'keys', (limits ->> 'keys')::float8, last,
                                    (last ->> 'usualKeys')::float8) then
    return jsonb_build_object('status', 'refused', 'code', 'PRUNE_UNUSUAL',
      'reason', 'It would remove far more than usual', 'survey', survey,
      'instead', 'Check the clock and the retention options. If it is meant, call admin.prune({ force: true, reason })');
  end if;

  foreach part in array array['dead', 'payloads', 'attempts', 'steps', 'deliveries', 'runs', 'messages', 'audit',
                             'bulks', 'keys', 'lanes'] loop
    after_id := '00000000-0000-0000-0000-000000000000';
    for nth in 1..steps loop
      execute 'select "hookonce".prune_' || part || '($1, $2, $3)' into step using limits, after_id, step_rows;
      select removed || jsonb_object_agg(one.key, coalesce((removed ->> one.key)::bigint, 0) + one.value::bigint)
        into removed
        from jsonb_each_text(step -> 'removed') one;
      after_id := (step ->> 'next')::uuid;
      exit when after_id is null;
    end loop;
    is_more := is_more or after_id is not null;
  end loop;

  fades := power(0.9, greatest(0, now_ms - (last ->> 'atMs')::float8) / day_ms);
  update "hookonce".meta
     set value = jsonb_build_object(
           'atMs', now_ms::bigint,
           'usualEvents', ceil(greatest((last ->> 'usualEvents')::float8 * fades,
                                        (removed ->> 'events')::float8)),
           'usualKeys', ceil(greatest((last ->> 'usualKeys')::float8 * fades,
                                      (removed ->> 'keys')::float8)))::text
   where name = 'prune';
  return jsonb_build_object('status', 'done', 'removed', removed, 'more', is_more);
end
$prune$;

insert into "hookonce".meta (name, value)
  values ('functions', '1 bd47193f9f58c3a39f5f9f25cdad4a7995da147e8013762fabe7fe1a999c4a44')
      on conflict (name) do update set value = excluded.value;

commit;
