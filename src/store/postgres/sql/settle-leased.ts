import { ranOf } from '../../../model/outcome.ts'
import type { LeasedSettlement } from '../../contract/steps.ts'
import type { Connections } from '../connections.ts'
import { plainArray, textArray } from '../binary-array.ts'
import { agoMs } from '../../shared/ago-ms.ts'
import { wholeMs } from '../../shared/whole-ms.ts'
import { freedBy } from './settle.ts'

export const CREATE_SETTLE_LEASED = `
-- Writes what became of leased events. Returns those whose lease held.
create or replace function {schema}.settle_leased(
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
  perform {schema}.require_settings();
  -- All of them at once, in their order, before the first is changed.
  select coalesce(array_agg(l.lane_id) filter (where l.mode <> 'after'), '{}'),
         coalesce(array_agg(l.lane_id) filter (where l.mode = 'after' and l.paused_at is not null), '{}')
    into in_order, paused
    from {schema}.queue q
    join {schema}.lanes l on l.lane_id = q.lane_id
   where q.event_id = any(events);
  if cardinality(in_order) > 0 then perform {schema}.lock_lanes(in_order); end if;
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
           from {schema}.queue q
          where q.event_id = any(events) and q.lease_token = any(tokens)
          order by q.event_id
            for update),
       held as materialized (
         select s.*, locked.lane_id, locked.number, locked.place, locked.policy
           from s
           join locked on locked.event_id = s.event_id and locked.run = s.run and locked.lease_token = s.token),
       gone as (
         delete from {schema}.queue q
          using held
          where q.event_id = any(events) and q.event_id = held.event_id and q.run = held.run
            and held.state in ('done', 'skipped', 'dead')),
       rested as (
         insert into {schema}.outcomes
                (event_id, run, state, attempts, started_at, duration_ms, reason, result, settled_at, lane_id, place)
         select event_id, run, state, attempt, started_at, duration_ms, reason, result, clock_timestamp(),
                lane_id, place
           from held
          where state in ('done', 'skipped', 'dead')),
       kept as (
         update {schema}.queue q
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
         insert into {schema}.attempts
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
    perform {schema}.leave_lanes(settled.events, settled.runs, settled.states, settled.lanes, settled.numbers,
                                 settled.places, settled.policies);
  end if;
  if cardinality(in_order) > 0 then perform {schema}.mend_lanes(in_order); end if;
  if cardinality(paused) > 0 then perform {schema}.mend_lanes(paused); end if;
  if cardinality(freed) > 0 then
    perform {schema}.free_lanes(
      array_agg(f.lane_id), array_agg(f.source), array_agg(f.key), array_agg(f.type), array_agg(f.event_id))
       from unnest(freed, freed_sources, freed_keys, freed_types, freed_by, freed_ords)
         as f (lane_id, source, key, type, event_id, ord)
      where f.ord = any(settled.ords)
     having count(*) > 0;
  end if;
  return query select unnest(settled.ords);
end
$settle_leased$;`

// $1 events  $2 runs  $3 tokens  $4 states  $5 attempts  $6 started ago in ms  $7 durations  $8 reasons  $9 results
// $10 retry in ms  $11 failure reasons  $12 failure messages  $13 failure durations  $14 failed ago in ms
// $15 handlers  $16 stacks  $17 causes  $18 freed lanes  $19 their sources  $20 keys  $21 types  $22 freed by events
// $23 places of those among the settlements
const SETTLE = `
  select ord
    from {schema}.settle_leased(
         $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
         $21, $22, $23)`

/** A transaction of its own, in one round trip. */
export async function settleLeased(
  connections: Connections,
  settlements: readonly LeasedSettlement[],
): Promise<readonly boolean[]> {
  const rows = settlements.map(({ settlement }) => settlement)
  const failures = rows.map((row) => ('failure' in row ? row.failure : undefined))
  const freed = rows.flatMap((row, at) => freedBy(row).map((lane) => ({ ...lane, ord: at + 1 })))
  const written = await connections.commitQuery<'ord'>(SETTLE, [
    plainArray(settlements.map(({ lease }) => lease.eventId)),
    plainArray(settlements.map(({ lease }) => lease.run)),
    plainArray(settlements.map(({ lease }) => lease.token)),
    plainArray(rows.map(({ state }) => state)),
    plainArray(rows.map((row) => ('attempt' in row ? row.attempt : 0))),
    plainArray(rows.map((row) => agoMs(ranOf(row)?.startedMs) ?? 'null')),
    plainArray(rows.map((row) => ('durationMs' in row ? wholeMs(row.durationMs) : 0))),
    textArray(rows.map((row) => ('reason' in row ? row.reason : null))),
    textArray(rows.map((row) => (row.state === 'done' ? (row.result ?? null) : null))),
    plainArray(rows.map((row) => (row.state === 'ready' ? row.retryInMs : 0))),
    textArray(failures.map((failure) => failure?.reason ?? null)),
    textArray(failures.map((failure) => failure?.message ?? null)),
    plainArray(failures.map((failure) => wholeMs(failure?.durationMs ?? 0))),
    plainArray(failures.map((failure) => agoMs(failure?.ran?.endedMs) ?? 0)),
    textArray(failures.map((failure) => failure?.handler ?? null)),
    textArray(failures.map((failure) => failure?.stack ?? null)),
    textArray(failures.map((failure) => failure?.cause ?? null)),
    plainArray(freed.map(({ id }) => id)),
    textArray(freed.map(({ source }) => source)),
    textArray(freed.map(({ key }) => key)),
    textArray(freed.map(({ type }) => type)),
    plainArray(freed.map(({ eventId }) => eventId)),
    plainArray(freed.map(({ ord }) => ord)),
  ])
  const found = new Set(written.map((row) => Number(row.ord)))
  return settlements.map((_, at) => found.has(at + 1))
}
