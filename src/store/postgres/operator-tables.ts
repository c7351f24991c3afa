/**
 * The tables of operators, part of migration 1: the runs that they asked for, what is paused, and what they did.
 *
 * @module
 */

export const OPERATOR_TABLES = `
-- The runs of an event after its first. body: what the handlers get in place of the event's own.
create table {schema}.runs (
  event_id   uuid        not null,
  run        integer     not null,
  reason     text,
  actor      text,
  ordered_at timestamptz not null,
  fresh_keys boolean     not null,
  body       bytea,
  primary key (event_id, run)
);

create table {schema}.pauses (
  kind          text        not null check (kind in ('source', 'handler', 'destination')),
  name          text        not null,
  paused_reason text,
  paused_actor  text,
  paused_at     timestamptz not null,
  primary key (kind, name)
);

-- A row for every change, written in the transaction that makes it. token: unique, so that a call that is made
-- twice makes one change. outcome: JSON.
create table {schema}.audit (
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
create index audit_subject on {schema}.audit (subject_kind, md5(subject_id), id);`
