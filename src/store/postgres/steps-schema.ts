/**
 * Version 3 of the schema: leases and steps.
 *
 * What runs for every step is a function in the schema, for the reason that `sql/record-new.ts` gives: its
 * plans are kept for as long as the session lives, and a call is one round trip.
 *
 * - An event of step handlers is `leasable` once a worker has seen it. It is then in none of the indexes that
 *   groups are claimed from: a thousand of them that wait for a slow carrier hold up no other event.
 * - Steps lock the queue row FOR SHARE, so that two steps of one event do not wait for each other; a statement
 * that
 *   ends or takes a lease needs the row for itself, and waits for them or skips it.
 * - The row of a `tx` step is written when its transaction opens, which arms the deferred trigger that makes
 *   every COMMIT but ours fail, as `commit_guards` does for groups.
 *
 * @module
 */

export const STEPS_SCHEMA = `
alter table {schema}.queue
  add column leasable boolean not null default false,
  add column lease_worker text;
create sequence {schema}.lease_tokens;

-- Which handler failed, where, and for what reason.
alter table {schema}.attempts add column handler text, add column stack text, add column cause text;

-- By topic first: a claim takes from the topics that are next, and walks over no other's events.
create index queue_fresh on {schema}.queue (topic, run_at, event_id)
 where parked is null and attempts = 0 and crashes = 0 and not leasable;
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

create table {schema}.steps (
  event_id   uuid        not null,
  run        integer     not null,
  handler    text        not null,
  position   integer     not null,
  kind       text        not null check (kind in ('tx', 'call', 'send')),
  name       text        not null,
  state      text        not null check (state in ('open', 'started', 'refused', 'done')),
  starts     integer     not null default 1,
  started_at timestamptz not null,
  result     text,
  primary key (event_id, run, handler, position)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
);
create constraint trigger guard_step
 after insert on {schema}.steps
 deferrable initially deferred
 for each row when (new.state = 'open') execute function {schema}.guard_commit();

-- Leases due events. Durable: a crash of the server that took the lease back would take the token back as well,
-- and give it to another worker while the first one still runs under it.
create function {schema}.lease_due(
  worker text, topics bigint[], mosts integer[], lease_ms float8, alone_from integer, suspect_lock bigint,
  bytes_max bigint)
returns table (event_id uuid, token bigint)
language plpgsql as $lease_due$
#variable_conflict use_column
declare
  suspect  record;
  is_alone boolean;
begin
  perform {schema}.require_settings();
  -- A worker without a record, or whose heart has stopped, would lose the lease at once.
  perform 1 from {schema}.workers
    where worker_id = worker and beat_at > clock_timestamp() - lease_ms * interval '1 millisecond';
  if not found then return; end if;

  select q.event_id, q.run into suspect
    from {schema}.queue q
   where q.parked is null and q.leasable and q.lease_token is null
     and q.topic = any(topics) and q.run_at <= (select clock_timestamp()) and q.crashes >= alone_from
   order by q.run_at, q.event_id
   limit 1
     for update skip locked;
  -- Whether one runs is asked after the lock is held, in a statement of its own: a snapshot from before would
  -- not see what the last holder of the lock has committed.
  is_alone := found and pg_try_advisory_xact_lock(suspect_lock);
  is_alone := is_alone and not exists (
    select from {schema}.queue q where q.lease_token is not null and q.crashes >= alone_from);
  if is_alone then
    return query
    update {schema}.queue q
       set attempts = q.attempts + 1, lease_token = nextval('{schema}.lease_tokens'), lease_worker = worker,
           lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
     where q.event_id = suspect.event_id and q.run = suspect.run
    returning q.event_id, q.lease_token;
    return;
  end if;

  for i in 1 .. cardinality(topics) loop
    return query
    with c as materialized (
           select q.event_id, q.run, q.run_at
             from {schema}.queue q
            where q.parked is null and q.leasable and q.lease_token is null
              and q.topic = topics[i] and q.run_at <= (select clock_timestamp()) and q.crashes < alone_from
            order by q.run_at, q.event_id
            limit mosts[i]
              for update skip locked),
         sized as materialized (
           select c.event_id, c.run,
                  sum(octet_length(e.body)) over so_far as bytes, row_number() over so_far as place
             from c
            cross join lateral (select body from {schema}.events where id = c.event_id limit 1) e
           window so_far as (order by c.run_at, c.event_id rows unbounded preceding)),
         chosen as materialized (
           select event_id, run, place from sized where bytes <= bytes_max or place = 1 order by place)
    update {schema}.queue q
       set attempts = q.attempts + 1, lease_token = nextval('{schema}.lease_tokens'), lease_worker = worker,
           lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
      from chosen
     where q.event_id = chosen.event_id and q.run = chosen.run
    returning q.event_id, q.lease_token;
  end loop;
end
$lease_due$;

-- Writes what is known of outside calls. Returns those whose lease holds.
create function {schema}.write_calls(
  events uuid[], runs integer[], tokens bigint[], handlers text[], positions integer[], names text[],
  changes text[], results text[])
returns table (ord bigint, uncertain_ms float8)
language plpgsql as $write_calls$
#variable_conflict use_column
begin
  perform {schema}.require_settings();
  return query
  with entry as materialized (
         select * from unnest(events, runs, tokens, handlers, positions, names, changes, results)
           with ordinality as e (event_id, run, token, handler, position, name, change, result, ord)),
       locked as materialized (
         select q.event_id, q.run, q.lease_token
           from {schema}.queue q
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
         insert into {schema}.steps as s
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

-- Makes sure of the leases, for as long as the transaction is open, and arms the guard against other COMMITs.
create function {schema}.open_steps(
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
           from {schema}.queue q
          where q.event_id = any(events) and q.lease_token = any(tokens)
          order by q.event_id
            for share),
       held as materialized (
         select entry.*
           from entry
           join locked on locked.event_id = entry.event_id and locked.run = entry.run
            and locked.lease_token = entry.token),
       opened as (
         insert into {schema}.steps (event_id, run, handler, position, kind, name, state, started_at)
         select event_id, run, handler, position, kind, name, 'open', clock_timestamp()
           from held
         returning event_id, run, handler, position)
  select held.ord, pg_backend_pid(), pg_current_xact_id()
    from held
    join opened on opened.event_id = held.event_id and opened.run = held.run
     and opened.handler = held.handler and opened.position = held.position;
end
$open_steps$;

-- Keeps the results of the steps that ran, and takes back the others.
create function {schema}.finish_steps(
  events uuid[], runs integer[], handlers text[], positions integer[], ran boolean[], results text[])
returns void language plpgsql as $finish_steps$
declare
  kept integer;
begin
  update {schema}.steps s
     set state = 'done', result = e.result
    from unnest(events, runs, handlers, positions, ran, results)
      as e (event_id, run, handler, position, ran, result)
   where e.ran and s.event_id = any(events)
     and s.event_id = e.event_id and s.run = e.run and s.handler = e.handler and s.position = e.position
     and s.state = 'open';
  get diagnostics kept = row_count;
  if kept <> cardinality(array_positions(ran, true)) then
    raise exception 'this is not the transaction that the steps were opened in'
      using errcode = 'invalid_transaction_termination';
  end if;
  if kept < cardinality(ran) then
    delete from {schema}.steps s
     using unnest(events, runs, handlers, positions) as e (event_id, run, handler, position)
     where s.event_id = e.event_id and s.run = e.run and s.handler = e.handler and s.position = e.position
       and s.state = 'open';
  end if;
end
$finish_steps$;

-- Writes what became of leased events. Returns those whose lease held.
create function {schema}.settle_leased(
  events uuid[], runs integer[], tokens bigint[], states text[], tries integer[], durations integer[],
  reasons text[], results text[], retries float8[], failures text[], messages text[],
  failure_durations integer[], failed_handlers text[], stacks text[], causes text[])
returns table (ord bigint)
language plpgsql as $settle_leased$
#variable_conflict use_column
begin
  perform {schema}.require_settings();
  return query
  with s as materialized (
         select * from unnest(events, runs, tokens, states, tries, durations, reasons, results, retries,
                              failures, messages, failure_durations, failed_handlers, stacks, causes)
           with ordinality as s (event_id, run, token, state, attempt, duration_ms, reason, result, retry_in_ms,
                                 failure, message, failure_ms, handler, stack, cause, ord)),
       locked as materialized (
         select q.event_id, q.run, q.lease_token
           from {schema}.queue q
          where q.event_id = any(events) and q.lease_token = any(tokens)
          order by q.event_id
            for update),
       held as materialized (
         select s.*
           from s
           join locked on locked.event_id = s.event_id and locked.run = s.run and locked.lease_token = s.token),
       gone as (
         delete from {schema}.queue q
          using held
          where q.event_id = any(events) and q.event_id = held.event_id and q.run = held.run
            and held.state in ('done', 'skipped', 'dead')),
       rested as (
         insert into {schema}.outcomes (event_id, run, state, attempts, duration_ms, reason, result, settled_at)
         select event_id, run, state, attempt, duration_ms, reason, result, clock_timestamp()
           from held
          where state in ('done', 'skipped', 'dead')),
       kept as (
         update {schema}.queue q
            set lease_token = null, lease_worker = null, lease_until = null,
                attempts = q.attempts - (held.state <> 'ready')::integer,
                leasable = held.state in ('ready', 'released'),
                run_at = clock_timestamp() + coalesce(held.retry_in_ms, 0) * interval '1 millisecond',
                parked = case held.state when 'unhandled' then 'unhandled' end,
                reason = case held.state when 'unhandled' then 'no handler for its type' end
           from held
          where q.event_id = any(events) and q.event_id = held.event_id and q.run = held.run
            and held.state in ('ready', 'released', 'regrouped', 'unhandled')),
       noted as (
         insert into {schema}.attempts
                (event_id, run, attempt, reason, message, duration_ms, handler, stack, cause, at)
         select event_id, run, attempt, failure, message, failure_ms, handler, stack, cause, clock_timestamp()
           from held
          where failure is not null)
  select ord from held;
end
$settle_leased$;
`
