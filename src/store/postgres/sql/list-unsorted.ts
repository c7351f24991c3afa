/**
 * Finds the events that have no lane yet, oldest first. Read without a lock, and once more with one by the transaction
 * that writes their places (`sort-events.ts`).
 *
 * @module
 */

import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { UnsortedRequest } from '../../contract/lanes.ts'
import type { UnhandledTopic } from '../../contract/queue.ts'
import type { UnsortedEvent } from '../../shared/take-decided.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import { asClaimedEvent, CLAIM_BYTES_MAX, CLAIMED_COLUMNS, DUE, joinReplay } from './claim-group.ts'

const first = (after: string): string => `
             (select q.topic, q.event_id
                from {schema}.queue q
               where ${DUE.fresh}
                 and q.topic > ${after}
               order by q.topic, q.run_at, q.event_id
               limit 1)`

export const CREATE_UNSORTED_TOPICS = `
create or replace function {schema}.unsorted_topics(of_source text)
returns table (topic bigint, type text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $unsorted_topics$
#variable_conflict use_column
begin
  return query
  with recursive found as (${first('-1')}
         union all
        select next.* from found cross join lateral ${first('found.topic')} next)
  select found.topic, e.type
    from found
    join lateral (select * from {schema}.events where id = found.event_id limit 1) e on true
   where e.source = of_source;
end
$unsorted_topics$;`

// Of tried ones the place is null.
const createUnsortedEvents = (name: string, lock: string): string => `
create or replace function {schema}.${name}(topics bigint[], most integer, also uuid[])
returns table (event_id uuid, run integer, attempts smallint, place bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $${name}$
#variable_conflict use_column
begin
  return query
  with due as (
         select picked.*
           from unnest(topics) as wanted (topic)
          cross join lateral (select q.event_id, q.run, q.run_at, q.bytes
                                from {schema}.queue q
                               where ${DUE.fresh}
                                 and q.topic = wanted.topic
                               order by q.run_at, q.event_id
                               limit most) picked
          order by picked.run_at, picked.event_id
          limit most),
       counted as materialized (
         select due.event_id, due.run, sum(due.bytes) over so_far as total, row_number() over so_far as place
           from due
         window so_far as (order by due.run_at, due.event_id rows unbounded preceding)),
       chosen as materialized (
         select counted.event_id, counted.run, counted.place
           from counted
          where counted.total <= ${CLAIM_BYTES_MAX} or counted.place = 1
          union all
         select q.event_id, q.run, null
           from {schema}.queue q
          where q.event_id = any(also) and q.lease_token is null and not (${DUE.fresh}))
  select q.event_id, q.run, q.attempts, chosen.place
    from chosen
    join {schema}.queue q on q.event_id = chosen.event_id and q.run = chosen.run
   where q.lane is null and q.parked is null
   order by q.event_id, q.run${lock};
end
$${name}$;`

export const CREATE_UNSORTED_EVENTS = createUnsortedEvents('unsorted_events', '')

// The rows are waited for: one that another transaction holds for a moment is not to be overtaken.
export const CREATE_LOCK_UNSORTED = createUnsortedEvents(
  'lock_unsorted',
  `
     for update of q`,
)

// $1 source
const LIST_TOPICS = `
  select topic, type from {schema}.unsorted_topics($1)`

// $1 topics  $2 limit  $3 others
const LIST_EVENTS = `
  select event_id, run, attempts, place from {schema}.unsorted_events($1, $2, $3)`

// $1 topics  $2 limit  $3 others
const LOCK_EVENTS = `
  select event_id, run, attempts, place from {schema}.lock_unsorted($1, $2, $3)`

// $1 events
const READ_EVENTS = `
  select q.event_id, q.topic, q.run, q.attempts, q.crashes,${CLAIMED_COLUMNS}
    from {schema}.queue q
   cross join lateral (select * from {schema}.events where id = q.event_id limit 1) e${joinReplay('q')}
   where q.event_id = any($1::uuid[]) and q.lane is null`

/** The topics of a source that have events without a lane. */
export async function listUnsorted(
  connection: Connection,
  source: string,
): Promise<readonly UnhandledTopic[]> {
  const { rows } = await connection.query<'topic' | 'type'>(LIST_TOPICS, [source])
  return rows.map(({ topic, type }) => ({ topic: Number(topic), source, type: type ?? '' }))
}

/** Inside a transaction of the caller, in the order in which they are to be sorted. */
export function lockUnsorted(
  connection: Connection,
  request: UnsortedRequest,
): Promise<readonly UnsortedEvent[]> {
  return listEvents(connection, LOCK_EVENTS, request)
}

/** With what is needed to tell their places. */
export async function readUnsorted(
  connection: Connection,
  request: UnsortedRequest,
): Promise<readonly ClaimedEvent[]> {
  const unsorted = await listEvents(connection, LIST_EVENTS, request)
  if (unsorted.length === 0) return []
  const ids = plainArray(unsorted.map(({ eventId }) => eventId))
  const { rows } = await connection.query(READ_EVENTS, [ids])
  const events = new Map(rows.map((row) => [row['event_id'], asClaimedEvent(row)]))
  return unsorted.flatMap(({ eventId }) => events.get(eventId) ?? [])
}

async function listEvents(
  connection: Connection,
  sql: string,
  { topics, limit, also }: UnsortedRequest,
): Promise<readonly UnsortedEvent[]> {
  const values = [plainArray(topics), limit, plainArray(also)]
  const { rows } = await connection.query<'event_id' | 'run' | 'attempts' | 'place'>(sql, values)
  return rows
    .toSorted((one, other) => Number(one.place ?? LAST) - Number(other.place ?? LAST))
    .map(({ event_id, run, attempts, place }) => ({
      eventId: event_id ?? '',
      run: Number(run),
      attempts: Number(attempts),
      isTried: place == null,
    }))
}

const LAST = Number.MAX_SAFE_INTEGER
