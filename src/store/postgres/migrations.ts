/**
 * The schema, version by version. A migration that has been released is never changed.
 *
 * What is insert-only and what is churned is a decision, see `docs/decisions/`:
 *
 * - `keys` rows are never updated once committed. `insert … on conflict do nothing` waits for any
 *   open transaction that has updated the row it conflicts with, so a handler that touched it would
 *   make every duplicate delivery hang until the handler ends.
 * - `queue` is the only churned table: small rows, deleted on completion. Its partial indexes, made with the
 *   leases in `steps-schema.ts`, are what the kinds of claim see; a parked event is in none of them.
 * - `events`, `outcomes` and `attempts` are partitioned by the id, which begins with its time.
 *
 * @module
 */

import { CREATE_OUTBOX } from './outbox-schema.ts'
import { STEPS_SCHEMA } from './steps-schema.ts'
import { WORK_SCHEMA } from './work-schema.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'inbox',
    sql: `
create table {schema}.meta (
  key   text primary key,
  value text not null
);
insert into {schema}.meta (key, value) values ('epoch', gen_random_uuid()::text);

create table {schema}.keys (
  hash        bytea primary key,
  event_id    uuid  not null,
  fingerprint bytea not null
);
create index keys_event_id on {schema}.keys (event_id);

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
  secret       text        not null
) partition by range (id);
create table {schema}.events_default partition of {schema}.events default;
create index events_by_key on {schema}.events (source, sha256(event_key));

create table {schema}.queue (
  event_id    uuid        not null,
  topic       bigint      not null,
  run         integer     not null default 0,
  run_at      timestamptz not null,
  attempts    smallint    not null default 0,
  crashes     smallint    not null default 0,
  parked      text
              check (parked in ('waiting', 'unhandled', 'paused', 'conflict', 'quarantined')),
  reason      text,
  lane        bytea,
  lease_token bigint,
  lease_until timestamptz,
  primary key (event_id, run)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000
);
create index queue_unhandled on {schema}.queue (topic)
 where parked = 'unhandled';

create table {schema}.outcomes (
  event_id    uuid        not null,
  run         integer     not null,
  state       text        not null
              check (state in ('done', 'dead', 'skipped', 'discarded')),
  attempts    integer     not null,
  duration_ms integer     not null,
  reason      text,
  result      text,
  settled_at  timestamptz not null,
  primary key (event_id, run)
) partition by range (event_id);
create table {schema}.outcomes_default partition of {schema}.outcomes default;
create index outcomes_dead on {schema}.outcomes (settled_at) where state = 'dead';

create table {schema}.attempts (
  event_id    uuid        not null,
  run         integer     not null,
  attempt     integer     not null,
  reason      text        not null,
  message     text        not null,
  duration_ms integer     not null,
  at          timestamptz not null
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

create table {schema}.workers (
  worker_id        text        not null,
  slot             integer     not null,
  beat_at          timestamptz not null,
  running          uuid[]      not null default '{}',
  running_attempts integer[]   not null default '{}',
  handles          text        not null default '[]',
  primary key (worker_id, slot)
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table {schema}.commit_guards (
  worker_id text    not null,
  slot      integer not null,
  n         bigint  not null,
  primary key (worker_id, slot)
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create function {schema}.guard_commit() returns trigger language plpgsql as $guard$
begin
  if current_setting('hookonce.commit', true) is distinct from 'ours' then
    raise exception 'a handler may not commit the transaction it was lent'
      using errcode = 'invalid_transaction_termination';
  end if;
  return null;
end
$guard$;
create constraint trigger guard_commit
 after insert or update on {schema}.commit_guards
 deferrable initially deferred
 for each row execute function {schema}.guard_commit();`,
  },
  { version: 2, name: 'outbox', sql: CREATE_OUTBOX },
  { version: 3, name: 'steps', sql: STEPS_SCHEMA },
  { version: 4, name: 'work', sql: WORK_SCHEMA },
]

/** The version this code was written for. */
export const SCHEMA_VERSION = MIGRATIONS.length
