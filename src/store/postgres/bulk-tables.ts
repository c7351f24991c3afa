/**
 * The tables of actions on many events, part of migration 1.
 *
 * `bulk_events` has the events that were chosen, so that what is counted is what is acted on. `outcome` is null as long
 * as nothing was done; then it is `done`, or the code of the refusal. `terms` is JSON: how events are replayed.
 *
 * A bulk that is `pruned` is gone for all but the pruner, which is at its events.
 *
 * @module
 */

export const BULK_TABLES = `
create table {schema}.bulks (
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

create table {schema}.bulk_events (
  bulk_id  uuid        not null,
  event_id uuid        not null,
  outcome  text,
  acted_at timestamptz,
  primary key (bulk_id, event_id)
);
create index bulk_events_left on {schema}.bulk_events (bulk_id, event_id)
 where outcome is null;`
