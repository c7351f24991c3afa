import type { PassedDeadline } from '../../contract/lanes.ts'
import type { Connections } from '../connections.ts'

export const CREATE_PASS_DEADLINES = `
-- Decides about events whose time to wait is over. Of a sequence it is the lowest that waits for a number; one behind
-- it waits from the time on when it is the lowest.
create or replace function {schema}.pass_deadlines(most integer)
returns table (event_id uuid, attempts smallint, becomes text, reason text)
language plpgsql set enable_seqscan = off set jit = off as $pass_deadlines$
#variable_conflict use_column
declare
  expired uuid[];
  late    record;
begin
  perform {schema}.require_settings();
  expired := array(
    select distinct found.lane
      from (select q.lane
              from {schema}.queue q
             where q.parked = 'waiting' and q.wait_until is not null and q.wait_until <= clock_timestamp()
             order by q.wait_until
             limit most) found);
  if cardinality(expired) = 0 then return; end if;
  perform {schema}.lock_lanes(expired);

  for late in
    select q.event_id, q.run, q.attempts, q.number, q.place, q.policy, q.lane, l.mode, l.next,
           l.mode = 'after'
           or (not exists (select from {schema}.queue a
                            where a.lane = l.lane and a.lane is not null and a.parked is distinct from 'waiting')
               and not exists (select from {schema}.queue lower
                                where lower.lane = l.lane and lower.parked = 'waiting' and lower.number is not null
                                  and (lower.number, lower.event_id) < (q.number, q.event_id))) as is_first
      from {schema}.lanes l
      join {schema}.queue q on q.lane = l.lane and q.parked = 'waiting' and q.wait_until <= clock_timestamp()
     where l.lane = any(expired) and l.paused_at is null
  loop
    if not late.is_first then
      update {schema}.queue q set wait_until = null where q.event_id = late.event_id and q.run = late.run;
      continue;
    end if;
    event_id := late.event_id;
    attempts := late.attempts;
    becomes := case late.policy when 'run' then 'ready' else 'dead' end;
    reason := case when late.mode = 'after' then format('no %s was done in its lane in time', late.place)
                   when late.next = late.number - 1 then format('number %s of its lane did not come in time', late.next)
                   else format('numbers %s to %s of its lane did not come in time', late.next, late.number - 1) end;
    if becomes = 'ready' then
      update {schema}.lanes l set next = late.number where l.lane = late.lane and l.mode = 'sequence';
      update {schema}.queue q
         set parked = null, parked_reason = null, wait_until = null, run_at = clock_timestamp()
       where q.event_id = late.event_id and q.run = late.run;
    else
      delete from {schema}.queue q where q.event_id = late.event_id and q.run = late.run;
      insert into {schema}.outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at)
      values (late.event_id, late.run, 'dead', late.attempts, 0, reason, clock_timestamp());
      insert into {schema}.attempts (event_id, run, attempt, reason, message, duration_ms, failed_at)
      values (late.event_id, late.run, late.attempts, 'order', reason, 0, clock_timestamp());
      if late.mode = 'sequence' then
        insert into {schema}.lane_blocks (lane, event_id, run) values (late.lane, late.event_id, late.run);
        insert into {schema}.lane_news (lane, event_id, is_blocked) values (late.lane, late.event_id, true);
      end if;
    end if;
    return next;
  end loop;
  perform {schema}.mend_lanes(expired);
end
$pass_deadlines$;`

// $1 limit
const PASS = `
  with passed as materialized (
         select event_id, attempts, becomes, reason from {schema}.pass_deadlines($1))
  select passed.event_id, passed.attempts, passed.becomes, passed.reason, e.source, e.type,
         encode(e.event_key, 'hex') as event_key
    from passed
   cross join lateral (select * from {schema}.events where id = passed.event_id limit 1) e`

const IS_ANY_DUE = `
  select exists (select
                   from {schema}.queue
                  where parked = 'waiting' and wait_until is not null
                    and wait_until <= (select clock_timestamp())) as is_due`

/** A transaction of its own, when there is anything to decide. */
export async function passDeadlines(
  connections: Connections,
  limit: number,
): Promise<readonly PassedDeadline[]> {
  const asked = await connections.use((connection) => connection.query<'is_due'>(IS_ANY_DUE))
  if (asked.rows[0]?.is_due !== 't') return []
  const rows = await connections.commitQuery<Column>(PASS, [limit])
  return rows.map((row) => ({
    eventId: row.event_id ?? '',
    source: row.source ?? '',
    key: Buffer.from(row.event_key ?? '', 'hex').toString(),
    type: row.type ?? '',
    attempt: Number(row.attempts),
    becomes: row.becomes === 'ready' ? 'ready' : 'dead',
    reason: row.reason ?? '',
  }))
}

type Column = 'event_id' | 'attempts' | 'becomes' | 'reason' | 'source' | 'type' | 'event_key'
