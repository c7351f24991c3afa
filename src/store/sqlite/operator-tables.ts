/**
 * The tables of operators, part of migration 1. What they are for is said in the file of the same name for
 * PostgreSQL.
 *
 * @module
 */

export const OPERATOR_TABLES = `
-- The runs of an event after its first. body: what the handlers get in place of the event's own.
create table {prefix}runs (
  event_id text not null,
  run integer not null,
  reason text,
  actor text,
  ordered_at integer not null,
  fresh_keys integer not null,
  body blob,
  primary key (event_id, run)
) strict, without rowid;

create table {prefix}pauses (
  kind text not null check (kind in ('source', 'handler', 'destination')),
  name text not null,
  paused_reason text,
  paused_actor text,
  paused_at integer not null,
  primary key (kind, name)
) strict, without rowid;

-- A row for every change, written in the transaction that makes it. token: unique, so that a call that is made
-- twice makes one change. outcome: JSON.
create table {prefix}audit (
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
create index {prefix}audit_subject on {prefix}audit (subject_kind, subject_id, id);`
