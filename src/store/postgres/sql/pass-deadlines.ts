import type { DeadlineRequest, LateTopic, PassedDeadline } from '../../contract/lanes.ts'
import { topicOf } from '../../../model/topic.ts'
import { plainArray, textArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import type { Connections } from '../connections.ts'
import { DUE } from './claim-group.ts'

// An event of a lane is due from the time on when it was next; a clock that was set back has moved what is in no id.
const STORED_AT = `least(q.run_at, to_timestamp(('x' || translate(left(q.event_id::text, 13), '-', ''))::bit(48)::bigint
                                                  / 1000.0))`

const oldest = (which: string, order = 'q.event_id'): string => `
                    (select ${STORED_AT} as stored_at
                       from {schema}.queue q
                      where ${which} and q.topic = wanted.topic
                      order by ${order}
                      limit 1)`

const IS_ASKED = `asked.topic = q.topic and asked.type is not distinct from q.place
               and (asked.oldest is null or asked.oldest >= q.wait_until)`

export const CREATE_PASS_DEADLINES = `
-- Decides about events whose time to wait is over. Of a sequence it is the lowest that waits for a number; one behind
-- it waits from the time on when it is the lowest. Of an after lane those stay that were to wait for longer than until the
-- oldest event of the required type was stored that was not tried yet: what they wait for may be that one.
create or replace function {schema}.pass_deadlines(topics bigint[], types text[], required bigint[], most integer)
returns table (event_id uuid, attempts smallint, becomes text, reason text)
language plpgsql set enable_seqscan = off set jit = off as $pass_deadlines$
#variable_conflict use_column
declare
  oldest  timestamptz[];
  expired uuid[];
  late    record;
begin
  perform {schema}.require_settings();
  oldest := array(
    select (select min(found.stored_at)
              from (${oldest(DUE.fresh, 'q.run_at, q.event_id')}
                     union all
                    ${oldest(DUE.head)}
                     union all
                    ${oldest('q.attempts = 1 and q.lease_token is not null')}) found)
      from unnest(required) with ordinality as wanted (topic, nth)
     order by wanted.nth);
  expired := array(
    select distinct found.lane_id
      from (select q.lane_id
              from {schema}.queue q
              join unnest(topics, types, oldest) as asked (topic, type, oldest) on ${IS_ASKED}
             where q.parked = 'waiting' and q.wait_until is not null and q.wait_until <= clock_timestamp()
             order by q.wait_until
             limit most) found);
  if cardinality(expired) = 0 then return; end if;
  perform {schema}.lock_lanes(expired);

  for late in
    select q.event_id, q.run, q.attempts, q.number, q.place, q.policy, q.lane_id, l.mode, l.next,
           l.mode = 'after'
           or (not exists (select from {schema}.queue a
                            where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting')
               and not exists (select from {schema}.queue lower
                                where lower.lane_id = l.lane_id and lower.parked = 'waiting' and lower.number is not null
                                  and (lower.number, lower.event_id) < (q.number, q.event_id))) as is_first
      from {schema}.lanes l
      join {schema}.queue q on q.lane_id = l.lane_id and q.parked = 'waiting' and q.wait_until <= clock_timestamp()
      join unnest(topics, types, oldest) as asked (topic, type, oldest) on ${IS_ASKED}
     where l.lane_id = any(expired) and l.paused_at is null
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
      update {schema}.lanes l set next = late.number where l.lane_id = late.lane_id and l.mode = 'sequence';
      update {schema}.queue q
         set parked = null, parked_reason = null, wait_until = null, run_at = clock_timestamp()
       where q.event_id = late.event_id and q.run = late.run;
    else
      delete from {schema}.queue q where q.event_id = late.event_id and q.run = late.run;
      insert into {schema}.outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at, lane_id, place)
      values (late.event_id, late.run, 'dead', late.attempts, 0, reason, clock_timestamp(), late.lane_id, late.place);
      insert into {schema}.attempts (event_id, run, attempt, reason, message, duration_ms, failed_at)
      values (late.event_id, late.run, late.attempts, 'order', reason, 0, clock_timestamp());
      if late.mode = 'sequence' then
        insert into {schema}.lane_blocks (lane_id, event_id, run) values (late.lane_id, late.event_id, late.run);
        insert into {schema}.lane_news (lane_id, event_id, is_blocked) values (late.lane_id, late.event_id, true);
      end if;
    end if;
    return next;
  end loop;
  perform {schema}.mend_lanes(expired);
end
$pass_deadlines$;`

// $1 topics  $2 what each requires  $3 the topics of that, or null  $4 limit
const PASS = `
  with passed as materialized (
         select event_id, attempts, becomes, reason from {schema}.pass_deadlines($1, $2, $3, $4))
  select passed.event_id, passed.attempts, passed.becomes, passed.reason, e.source, e.type,
         encode(e.event_key, 'hex') as event_key
    from passed
   cross join lateral (select * from {schema}.events where id = passed.event_id limit 1) e`

const LIST_LATE = `
  select late.topic, late.place, e.source, e.type
    from (select distinct on (q.topic, q.place) q.topic, q.place, q.event_id
            from {schema}.queue q
           where q.parked = 'waiting' and q.wait_until is not null
             and q.wait_until <= (select clock_timestamp())
           order by q.topic, q.place) late
   cross join lateral (select * from {schema}.events where id = late.event_id limit 1) e`

export async function listLate(connection: Connection): Promise<readonly LateTopic[]> {
  const { rows } = await connection.query<'topic' | 'place' | 'source' | 'type'>(LIST_LATE)
  return rows.map(({ topic, place, source, type }) => ({
    topic: Number(topic),
    source: source ?? '',
    type: type ?? '',
    requires: place ?? undefined,
  }))
}

/** In a transaction of its own. */
export async function passDeadlines(
  connections: Connections,
  { late, limit }: DeadlineRequest,
): Promise<readonly PassedDeadline[]> {
  if (late.length === 0) return []
  const required = late.map(({ source, requires }) =>
    requires === undefined ? 'null' : topicOf(source, requires),
  )
  const rows = await connections.commitQuery<Column>(PASS, [
    plainArray(late.map(({ topic }) => topic)),
    textArray(late.map(({ requires }) => requires ?? null)),
    plainArray(required),
    limit,
  ])
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
