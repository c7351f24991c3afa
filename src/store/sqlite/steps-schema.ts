/**
 * Version 3 of the schema: leases and steps. What `leasable` is for is told in the one for PostgreSQL.
 *
 * @module
 */

export const STEPS_SCHEMA = `
  alter table {prefix}queue add column leasable integer not null default 0;
  alter table {prefix}queue add column lease_token integer;
  alter table {prefix}queue add column lease_worker text;
  alter table {prefix}queue add column lease_until integer;

  create index {prefix}queue_fresh on {prefix}queue (topic, run_at, event_id)
   where parked is null and attempts = 0 and crashes = 0 and leasable = 0;
  create index {prefix}queue_again on {prefix}queue (topic, run_at, event_id)
   where parked is null and attempts > 0 and crashes = 0 and leasable = 0;
  create index {prefix}queue_suspect on {prefix}queue (run_at, event_id)
   where parked is null and crashes > 0 and leasable = 0;
  create index {prefix}queue_leasable on {prefix}queue (topic, run_at, event_id)
   where parked is null and leasable = 1 and lease_token is null;
  create index {prefix}queue_later on {prefix}queue (run_at)
   where parked is null and attempts > 0 and lease_token is null;
  create index {prefix}queue_leased on {prefix}queue (lease_worker)
   where lease_token is not null;

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
  ) strict, without rowid;

  -- Which handler failed, where, and for what reason.
  alter table {prefix}attempts add column handler text;
  alter table {prefix}attempts add column stack text;
  alter table {prefix}attempts add column cause text;

  insert into {prefix}meta (name, value) values ('lease token', '0');`
