/**
 * The tables of actions on many events, part of migration 1. What they are for is said in the file of the same name
 * for PostgreSQL.
 *
 * @module
 */

export const BULK_TABLES = `
create table {prefix}bulks (
  id text not null primary key,
  action text not null,
  filter text not null,
  reason text,
  actor text,
  terms text,
  state text not null check (state in ('planning', 'planned', 'aborted', 'pruned')),
  created_at integer not null
) strict, without rowid;

create table {prefix}bulk_events (
  bulk_id text not null,
  event_id text not null,
  outcome text,
  acted_at integer,
  primary key (bulk_id, event_id)
) strict, without rowid;
create index {prefix}bulk_events_left on {prefix}bulk_events (bulk_id, event_id)
 where outcome is null;`
