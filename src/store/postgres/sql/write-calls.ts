import type { CallEntry, CallWritten } from '../../contract/steps.ts'
import type { Connections } from '../connections.ts'
import { plainArray, textArray } from '../binary-array.ts'

export const CREATE_WRITE_CALLS = `
-- Writes what is known of outside calls. Returns those whose lease holds.
create or replace function {schema}.write_calls(
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
$write_calls$;`

// $1 events  $2 runs  $3 tokens  $4 handlers  $5 positions  $6 names  $7 changes  $8 results
const WRITE = `
  select ord, uncertain_ms
    from {schema}.write_calls($1, $2, $3, $4, $5, $6, $7, $8)`

/** A transaction of its own, in one round trip. */
export async function writeCalls(
  connections: Connections,
  entries: readonly CallEntry[],
): Promise<readonly (CallWritten | undefined)[]> {
  const rows = await connections.commitQuery<'ord' | 'uncertain_ms'>(WRITE, [
    plainArray(entries.map(({ lease }) => lease.eventId)),
    plainArray(entries.map(({ lease }) => lease.run)),
    plainArray(entries.map(({ lease }) => lease.token)),
    textArray(entries.map(({ handler }) => handler)),
    plainArray(entries.map(({ position }) => position)),
    textArray(entries.map(({ name }) => name)),
    plainArray(entries.map(({ change }) => change)),
    textArray(entries.map(({ result }) => result ?? null)),
  ])
  const written = new Map(rows.map((row) => [Number(row.ord), Number(row.uncertain_ms)]))
  return entries.map((_, at) => {
    const uncertainForMs = written.get(at + 1)
    return uncertainForMs === undefined ? undefined : { uncertainForMs }
  })
}
