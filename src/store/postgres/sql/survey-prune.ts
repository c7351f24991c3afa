/**
 * Says how much is older than its retention, about: what was stored before the limit and is neither dead nor queued.
 * Asked of the ids, which begin with their time, so that it costs a walk over an index and no look at each event.
 *
 * @module
 */

import type { PruneLimits, PruneRun, PruneShare, PruneSurvey } from '../../contract/retention.ts'
import { DAY_MS, expectedShare } from '../../shared/expected-share.ts'
import type { Connection } from '../connection.ts'
import { WEEK_MS } from './ensure-partitions.ts'

export const CREATE_PRUNE_SURVEY = `
create or replace function {schema}.prune_survey(limits jsonb)
returns jsonb
language plpgsql as $prune_survey$
declare
  events_before uuid := {schema}.lowest_id_at(greatest((limits ->> 'done')::float8, (limits ->> 'skipped')::float8,
                                                       (limits ->> 'discarded')::float8));
  keys_before uuid := {schema}.lowest_id_at((limits ->> 'keys')::float8);
begin
  return jsonb_build_object(
    'events', jsonb_build_object(
      'there', (select count(*) from {schema}.events),
      'old', greatest(0, (select count(*) from {schema}.events where id < events_before)
                         - (select count(*) from {schema}.outcomes
                             where state = 'dead' and event_id < events_before)
                         - (select count(*) from {schema}.queue where event_id < events_before))),
    'keys', jsonb_build_object(
      'there', (select count(*) from {schema}.outcomes),
      'old', greatest(0, (select count(*) from {schema}.outcomes where event_id < keys_before)
                         - (select count(*) from {schema}.outcomes
                             where state = 'dead' and event_id < keys_before)
                         - (select count(*) from {schema}.queue where event_id < keys_before and run > 0))));
end
$prune_survey$;`

const READ = `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
         (select value from {schema}.meta where name = 'prune') as last`

// $1 limits
const SURVEY = `
  select {schema}.prune_survey($1) as found`

/** The database's time, and what the last run has written down. */
export async function findLastRun(
  connection: Connection,
): Promise<{ readonly nowMs: number; readonly last: PruneRun }> {
  const { rows } = await connection.query<'now' | 'last'>(READ)
  return { nowMs: Number(rows[0]?.now), last: JSON.parse(rows[0]?.last ?? '') as PruneRun }
}

/** Inside a transaction of the caller. */
export async function surveyPrune(
  connection: Connection,
  limits: PruneLimits,
): Promise<PruneSurvey> {
  const { nowMs, last } = await findLastRun(connection)
  const { rows: counted } = await connection.query<'found'>(SURVEY, [JSON.stringify(limits)])
  const found = JSON.parse(counted[0]?.found ?? '') as Record<'events' | 'keys', Counted>
  const { done, skipped, discarded, keys } = limits
  const payloads = Math.max(done ?? 0, skipped ?? 0, discarded ?? 0)
  return {
    nowMs,
    limits,
    events: { ...found.events, expected: expectedShare(nowMs, payloads, WEEK_MS) },
    keys: { ...found.keys, expected: expectedShare(nowMs, keys ?? 0, DAY_MS) },
    last,
  }
}

type Counted = Omit<PruneShare, 'expected'>
