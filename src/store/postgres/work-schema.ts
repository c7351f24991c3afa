/**
 * Version 4 of the schema: what a group needs, as functions.
 *
 * A group costs four statements of ours beside its handlers' own, and each was parsed and planned anew. The
 * reason for functions is that of `sql/record-new.ts`: their plans are kept for as long as the session
 * lives, also behind a transaction pooler.
 *
 * A plan that is kept is made for the queue as it was, which may have been a handful of rows. So the functions
 * are told to use indexes whatever the planner thinks. Measured with 50,000 events queued: 22.8 ms a claim with
 * a plan made for five of them, 0.5 ms this way (`test/store/postgres/claim.test.ts` counts the scans).
 *
 * Before PostgreSQL 18 a scan that is forbidden and cannot be avoided is planned as if it cost 10,000,000,000,
 * and what is so dear is compiled to machine code before each run. So they are told not to. Measured on
 * PostgreSQL 15: a second a claim, 3 ms this way (`test/store/postgres/compiled-plans.test.ts`).
 *
 * Only PostgreSQL: SQLite has no functions in the database.
 *
 * @module
 */

import { CREATE_ANNOUNCE } from './sql/announce.ts'
import { CREATE_CLAIMS, CREATE_OPEN_GUARD } from './sql/claim-group.ts'
import { CREATE_LOOK } from './sql/look.ts'
import { CREATE_RECORD_NEW } from './sql/record-new.ts'
import { CREATE_SESSION_STATE } from './sql/session-state.ts'
import { CREATE_SETTLE_RESTING } from './sql/settle.ts'

export const WORK_SCHEMA = `
-- Whether the body can be handed over as text: half the size of hex, and no decoding.
alter table {schema}.events add column is_text boolean not null default false;
-- The request that an event is a part of, kept once for all its events.
alter table {schema}.events add column request_id uuid;
create table {schema}.requests (
  id   uuid  primary key,
  body bytea not null
) partition by range (id);
create table {schema}.requests_default partition of {schema}.requests default;
-- How large the body is, so that a claim can stop before it reads more than it can hold.
alter table {schema}.queue add column bytes integer not null default 0;

drop function if exists {schema}.record_new(
  uuid[], text[], bytea[], text[], bytea[], bytea[], bytea[], bytea[], text[], timestamptz[], timestamptz[],
  text[], integer);
${CREATE_RECORD_NEW}
${CREATE_CLAIMS}
${CREATE_LOOK}
${CREATE_OPEN_GUARD}
${CREATE_ANNOUNCE}
${CREATE_SETTLE_RESTING}
${CREATE_SESSION_STATE}`
