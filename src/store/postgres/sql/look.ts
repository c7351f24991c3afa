/**
 * Says which topics have something due, and when the next event of any topic will be.
 *
 * Steps from one topic to the next, an index probe each, so that a hundred thousand events of one topic cost no
 * more than one. What a worker's record lists as running is not waiting: an idle worker that was told of it would
 * ask for it again and again.
 *
 * The end of what an event waits for in its lane counts as well: a process that is called now and then must be called
 * then. One that has passed, and that no worker has decided about yet, is in a millisecond.
 *
 * @module
 */

import type { DueKind, Look, LookRequest } from '../../contract/queue.ts'
import { summarizeLook } from '../../shared/summarize-look.ts'
import type { Connection } from '../connection.ts'
import { CLAIMABLE } from './claim-group.ts'

const NOT_RUNNING = `
                and (q.event_id, q.attempts + 1) not in (
                    select r.event_id, r.attempt
                      from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))`

const first = (kind: DueKind, after: string): string => `
             (select q.topic, q.event_id, q.run_at
                from {schema}.queue q
               where ${CLAIMABLE[kind]}
                 and q.topic > ${after}${kind === 'leasable' ? '' : NOT_RUNNING}
               order by q.topic, q.run_at, q.event_id
               limit 1)`

const topicsOf = (kind: DueKind): string => `
       ${kind} as (${first(kind, 'after_topic')}
              union all
             select next.*
               from ${kind}
              cross join lateral ${first(kind, `${kind}.topic`)} next)`

export const CREATE_LOOK = `
create or replace function {schema}.look(after_topic bigint, most integer, suspect_lock bigint)
returns table (kind text, topic bigint, source text, type text, due_in_ms float8)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $look$
#variable_conflict use_column
begin
  return query
  with recursive ${topicsOf('fresh')},${topicsOf('head')},${topicsOf('again')},${topicsOf('leasable')},
       suspect as materialized (
         select distinct on (q.topic) q.topic, q.event_id, q.run_at
           from {schema}.queue q
          where ${CLAIMABLE.suspect}${NOT_RUNNING}
          order by q.topic, q.run_at),
       -- While one suspect runs no other can be claimed, however long it is due. The locks are looked at only when
       -- there is a suspect, and not by trying: that would be in the way of a worker that claims one.
       free_suspect as (
         select *
           from suspect
          where not exists (select
                              from pg_locks
                             where locktype = 'advisory' and granted
                               and database = (select oid from pg_database where datname = current_database())
                               and classid = ((suspect_lock >> 32) & 4294967295)::oid
                               and objid = (suspect_lock & 4294967295)::oid
                               and objsubid = 1)),
       due as (
         (select 'fresh' as kind, f.* from fresh f limit most)
          union all
         (select 'head', h.* from head h limit most)
          union all
         (select 'again', a.* from again a limit most)
          union all
         (select 'leasable', l.* from leasable l limit most)
          union all
         (select 'suspect', s.* from free_suspect s limit most))
  select due.kind, due.topic, e.source, e.type,
         (extract(epoch from due.run_at - clock_timestamp()) * 1000)::float8
    from due
    join lateral (select * from {schema}.events where id = due.event_id limit 1) e on true
   union all
  select 'later', null, null, null,
         least((extract(epoch from (select min(q.run_at)
                                      from {schema}.queue q
                                     where q.parked is null and q.attempts > 0 and q.lease_token is null
                                       and q.run_at > (select clock_timestamp())) - clock_timestamp()) * 1000)::float8,
               (select greatest(extract(epoch from q.wait_until - clock_timestamp()) * 1000, 1000)::float8
                  from {schema}.queue q
                 where q.parked = 'waiting' and q.wait_until is not null
                 order by q.wait_until
                 limit 1));
end
$look$;`

// $1 the topic after which to begin  $2 limit
// $3 the lock that the one running suspect holds; null where that is ours
const LOOK = `
  select kind, topic, source, type, due_in_ms
    from {schema}.look($1, $2, $3)`

export async function look(
  connection: Connection,
  { after, limit }: LookRequest,
  suspectLock: string | undefined,
): Promise<Look> {
  const { rows } = await connection.query<'kind' | 'topic' | 'source' | 'type' | 'due_in_ms'>(
    LOOK,
    [after, limit, suspectLock ?? null],
  )
  const found = rows.flatMap(({ kind, topic, source, type, due_in_ms }) =>
    kind === null || kind === 'later'
      ? []
      : [
          {
            kind: kind as DueKind,
            topic: Number(topic),
            source: source ?? '',
            type: type ?? '',
            dueInMs: Number(due_in_ms),
          },
        ],
  )
  const later = rows.find(({ kind }) => kind === 'later')?.due_in_ms
  return summarizeLook(found, later == null ? undefined : Number(later), limit)
}
