/**
 * Writes what became of claimed events, in the transaction that claimed them.
 *
 * Every statement also says in which transaction it ran. A handler that got around the checks may
 * have ended ours and begun another, in which none of our locks hold.
 *
 * The rows are named as `= any($1)` beside the join, because that is what the planner answers with the
 * index whatever the queue's size. From the join alone it chose to read the whole queue for every group:
 * measured with 20,000 events queued, 20 µs an event, and 6 µs this way.
 *
 * What rests may wait for a lock for longer than a handler in a group may: a week of outcomes that leaves
 * (`drop-partitions.ts`) has them all for a moment, and the handlers have done their work.
 *
 * @module
 */

import { HookonceError } from '../../../errors.ts'
import { ranOf } from '../../../model/outcome.ts'
import type { FailedAttempt, FreedLane, Settlement } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { plainArray, textArray } from '../binary-array.ts'
import { agoMs } from '../../shared/ago-ms.ts'
import { wholeMs } from '../../shared/whole-ms.ts'
import { freeLanes, mendLanes } from './mend-lanes.ts'

export const CREATE_SETTLE_RESTING = `
create or replace function {schema}.settle_resting(
  events uuid[], runs integer[], states text[], attempt_counts integer[], started_ago_ms float8[],
  durations_ms integer[], reasons text[], results text[])
returns bigint language plpgsql set enable_seqscan = off set jit = off set lock_timeout = '2s'
  set plan_cache_mode = force_generic_plan as $settle_resting$
declare
  rested  record;
  -- One moment for all: rows come in the order in which they lie in the table, which in a lane is often the wrong one.
  rest_at timestamptz := clock_timestamp();
begin
  with s as materialized (
         select *
           from unnest(events, runs, states, attempt_counts, started_ago_ms, durations_ms, reasons, results)
             as s (event_id, run, state, attempts, ago_ms, duration_ms, reason, result)),
       gone as (
         delete from {schema}.queue q
          using s
          where q.event_id = any(events)
            and q.event_id = s.event_id and q.run = s.run and q.attempts = s.attempts - 1
         returning s.*, q.lane_id, q.number, q.place, q.policy),
       written as (
         insert into {schema}.outcomes
                (event_id, run, state, attempts, started_at, duration_ms, reason, result, settled_at, lane_id, place)
         select event_id, run, state, attempts, rest_at - ago_ms * interval '1 millisecond', duration_ms, reason,
                result, rest_at, lane_id, place
           from gone)
  select count(*) as found, count(lane_id) as in_lanes, array_agg(event_id) as events, array_agg(run) as runs,
         array_agg(state) as states, array_agg(lane_id) as lanes, array_agg(number) as numbers,
         array_agg(place) as places, array_agg(policy) as policies
    into rested
    from gone;
  if rested.in_lanes > 0 then
    perform {schema}.leave_lanes(rested.events, rested.runs, rested.states, rested.lanes, rested.numbers,
                                 rested.places, rested.policies);
  end if;
  return rested.found;
end
$settle_resting$;`

// $1 events  $2 runs  $3 states  $4 attempts  $5 started ago in ms  $6 durations  $7 reasons  $8 results
const REST = `
  select {schema}.settle_resting($1, $2, $3, $4, $5, $6, $7, $8) as found, pg_current_xact_id() as xid`

// $1 events  $2 runs  $3 attempts  $4 retry in ms
const RUN_AGAIN = `
  with s as materialized (
         select *
           from unnest($1::uuid[], $2::integer[], $3::integer[], $4::float8[])
             as s (event_id, run, attempts, retry_in_ms)),
       changed as (
         update {schema}.queue q
            set attempts = s.attempts,
                run_at = clock_timestamp() + s.retry_in_ms * interval '1 millisecond'
           from s
          where q.event_id = any($1::uuid[])
            and q.event_id = s.event_id and q.run = s.run and q.attempts = s.attempts - 1
         returning q.lane_id)
  select (select count(*) from changed) as found, (select array_agg(lane_id) from changed where lane_id is not null) as lanes,
         pg_current_xact_id() as xid`

// $1 events  $2 runs
const PARK_UNHANDLED = `
  with s as materialized (
         select * from unnest($1::uuid[], $2::integer[]) as s (event_id, run)),
       changed as (
         update {schema}.queue q
            set parked = 'unhandled', parked_reason = 'no handler for its type'
           from s
          where q.event_id = any($1::uuid[])
            and q.event_id = s.event_id and q.run = s.run
         returning 1)
  select (select count(*) from changed) as found, pg_current_xact_id() as xid`

// $1 events  $2 runs  $3 attempts  $4 reasons  $5 messages  $6 durations  $7 handlers  $8 stacks  $9 causes
// $10 started ago in ms  $11 failed ago in ms
const ADD_ATTEMPTS = `
  insert into {schema}.attempts
         (event_id, run, attempt, reason, message, duration_ms, handler, stack, cause, started_at, failed_at)
  select event_id, run, attempt, reason, message, duration_ms, handler, stack, cause,
         clock_timestamp() - started_ago_ms * interval '1 millisecond',
         clock_timestamp() - failed_ago_ms * interval '1 millisecond'
    from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::integer[], $7::text[],
                $8::text[], $9::text[], $10::float8[], $11::float8[])
      as failed (event_id, run, attempt, reason, message, duration_ms, handler, stack, cause, started_ago_ms,
                 failed_ago_ms)`

type Settled<State> = Extract<Settlement, { state: State }>

/**
 * Without an `xid` it is not checked, since no handler has had the transaction.
 *
 * @throws HookonceError TRANSACTION_ENDED when this is not the transaction that holds the events
 */
export async function settle(
  connection: Connection,
  xid: string | undefined,
  settlements: readonly Settlement[],
): Promise<void> {
  const resting = settlements.filter(
    (s) => s.state === 'done' || s.state === 'skipped' || s.state === 'dead',
  )
  const again = settlements.filter((s) => s.state === 'ready')
  const unhandled = settlements.filter((s) => s.state === 'unhandled')
  const failed = settlements.filter((s) => s.state === 'dead' || s.state === 'ready')

  if (resting.length > 0) await expectAll(connection, xid, resting, REST, restValues(resting))
  if (again.length > 0) {
    const { lanes } = await expectAll(connection, xid, again, RUN_AGAIN, againValues(again))
    // Where the latest goes first, one that failed lets others go before it.
    if (lanes != null) await mendLanes(connection, lanes.slice(1, -1).split(','))
  }
  if (unhandled.length > 0)
    await expectAll(connection, xid, unhandled, PARK_UNHANDLED, idsOf(unhandled))
  if (failed.length > 0) await addAttempts(connection, failed)
  await freeLanes(connection, settlements.flatMap(freedBy))
}

export function freedBy(
  settlement: Settlement | { readonly state: string },
): readonly (FreedLane & { readonly eventId: string })[] {
  if (!('frees' in settlement) || settlement.frees === undefined) return []
  return settlement.frees.map((lane) => ({ ...lane, eventId: settlement.eventId }))
}

export async function addAttempts(
  connection: Connection,
  failed: readonly { eventId: string; run: number; failure: FailedAttempt }[],
): Promise<void> {
  await connection.query(ADD_ATTEMPTS, [
    ...idsOf(failed),
    plainArray(failed.map(({ failure }) => failure.attempt)),
    textArray(failed.map(({ failure }) => failure.reason)),
    textArray(failed.map(({ failure }) => failure.message)),
    plainArray(failed.map(({ failure }) => wholeMs(failure.durationMs))),
    textArray(failed.map(({ failure }) => failure.handler ?? null)),
    textArray(failed.map(({ failure }) => failure.stack ?? null)),
    textArray(failed.map(({ failure }) => failure.cause ?? null)),
    plainArray(failed.map(({ failure }) => agoMs(failure.ran?.startedMs) ?? 'null')),
    plainArray(failed.map(({ failure }) => agoMs(failure.ran?.endedMs) ?? 0)),
  ])
}

async function expectAll(
  connection: Connection,
  xid: string | undefined,
  settlements: readonly Settlement[],
  sql: string,
  values: unknown[],
): Promise<{ readonly lanes?: string | null }> {
  const { rows } = await connection.query<'found' | 'xid' | 'lanes'>(sql, values)
  const [row] = rows
  const isOurs = xid === undefined || row?.xid === xid
  if (isOurs && row !== undefined && Number(row.found) === settlements.length) return row
  throw new HookonceError(
    'TRANSACTION_ENDED',
    isOurs
      ? `${settlements.length} events were to be settled and the queue has ${String(rows[0]?.found)} of them`
      : 'The transaction that held the events was ended by a handler, or by a library it uses',
  )
}

function restValues(settlements: readonly Settled<'done' | 'skipped' | 'dead'>[]): unknown[] {
  return [
    ...idsOf(settlements),
    plainArray(settlements.map(({ state }) => state)),
    plainArray(settlements.map(({ attempt }) => attempt)),
    plainArray(settlements.map((s) => agoMs(ranOf(s)?.startedMs) ?? 'null')),
    plainArray(settlements.map(({ durationMs }) => wholeMs(durationMs))),
    textArray(settlements.map((s) => (s.state === 'done' ? null : s.reason))),
    textArray(settlements.map((s) => (s.state === 'done' ? (s.result ?? null) : null))),
  ]
}

function againValues(settlements: readonly Settled<'ready'>[]): unknown[] {
  return [
    ...idsOf(settlements),
    plainArray(settlements.map(({ attempt }) => attempt)),
    plainArray(settlements.map(({ retryInMs }) => retryInMs)),
  ]
}

function idsOf(settlements: readonly { eventId: string; run: number }[]): [string, string] {
  return [
    plainArray(settlements.map(({ eventId }) => eventId)),
    plainArray(settlements.map(({ run }) => run)),
  ]
}
