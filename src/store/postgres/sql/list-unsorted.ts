/**
 * Finds the events that have no lane yet, oldest first. Read without a lock, and once more with one by the transaction
 * that writes their places (`sort-events.ts`).
 *
 * @module
 */

import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import { topicRange } from '../../../model/topic.ts'
import type { UnsortedRequest } from '../../contract/lanes.ts'
import type { UnhandledTopic } from '../../contract/queue.ts'
import type { UnsortedEvent } from '../../shared/take-decided.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import type { UnsortedPositions } from '../unsorted-positions.ts'
import {
  asClaimedEvent,
  CLAIM_BYTES_MAX,
  CLAIMED_COLUMNS,
  DUE,
  joinReplay,
  timestampOf,
} from './claim-group.ts'

const next = (after: string, before: string): string => `
             (select q.topic, q.event_id, q.run_at
                from {schema}.queue q
               where ${DUE.fresh}
                 and q.topic > ${after} and q.topic < ${before}
               order by q.topic, q.run_at, q.event_id
               limit 1)`

const MICROS = (time: string): string => `(date_part('epoch', ${time}) * 1000000)::bigint`

// Topics with a low-water position are asked each by itself, and what lies between them is walked over: a topic that has
// appeared is found at once. One of them that has nothing is there without a type, so that the database's time is told.
export const CREATE_UNSORTED_TOPICS = `
create or replace function {schema}.unsorted_topics(
  of_source text, first_topic bigint, last_topic bigint, known bigint[], low_waters timestamptz[])
returns table (topic bigint, type text, run_at bigint, asked_at bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $unsorted_topics$
#variable_conflict use_column
begin
  return query
  with recursive places as materialized (
         select p.topic, p.low_water, lead(p.topic, 1, last_topic + 1) over (order by p.topic) as before
           from (select * from unnest(known, low_waters) as k (topic, low_water)
                  union all
                 select first_topic - 1, null) p),
       between_them as (
         select p.before, n.topic, n.event_id, n.run_at from places p cross join lateral ${next('p.topic', 'p.before')} n
          union all
         select b.before, n.topic, n.event_id, n.run_at from between_them b cross join lateral ${next('b.topic', 'b.before')} n),
       found as (
         select b.topic, b.event_id, b.run_at from between_them b
          union all
         select p.topic, n.event_id, n.run_at
           from places p
           left join lateral (select q.event_id, q.run_at
                                from {schema}.queue q
                               where ${DUE.fresh}
                                 and q.topic = p.topic and q.run_at >= p.low_water
                               order by q.run_at, q.event_id
                               limit 1) n on true
          where p.low_water is not null)
  select found.topic, e.type, ${MICROS('found.run_at')}, ${MICROS('clock_timestamp()')}
    from found
    left join lateral (select * from {schema}.events where id = found.event_id limit 1) e on true
   where found.event_id is null or e.source = of_source;
end
$unsorted_topics$;`

// Of tried ones the place is null.
const createUnsortedEvents = (name: string, lock: string): string => `
create or replace function {schema}.${name}(
  topics bigint[], low_waters timestamptz[], most integer, also uuid[], bytes_max bigint)
returns table (event_id uuid, run integer, attempts smallint, place bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $${name}$
#variable_conflict use_column
begin
  return query
  with due as (
         select picked.*
           from unnest(topics, low_waters) as wanted (topic, low_water)
          cross join lateral (select q.event_id, q.run, q.run_at, q.bytes
                                from {schema}.queue q
                               where ${DUE.fresh}
                                 and q.topic = wanted.topic and q.run_at >= wanted.low_water
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
          where counted.total <= bytes_max or counted.place = 1
          union all
         select q.event_id, q.run, null
           from {schema}.queue q
          where q.event_id = any(also) and q.lease_token is null and not (${DUE.fresh}))
  select q.event_id, q.run, q.attempts, chosen.place
    from chosen
    join {schema}.queue q on q.event_id = chosen.event_id and q.run = chosen.run
   where q.event_id = any(array(select event_id from chosen)) and q.lane_id is null and q.parked is null
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

// $1 source  $2 its first topic  $3 its last  $4 topics  $5 low-water positions
const LIST_TOPICS = `
  select topic, type, run_at, asked_at from {schema}.unsorted_topics($1, $2, $3, $4, $5)`

// $1 topics  $2 low-water positions  $3 limit  $4 others  $5 bytes
const LIST_EVENTS = `
  select event_id, run, attempts, place from {schema}.unsorted_events($1, $2, $3, $4, $5)`

// $1 topics  $2 low-water positions  $3 limit  $4 others  $5 bytes
const LOCK_EVENTS = `
  select event_id, run, attempts, place from {schema}.lock_unsorted($1, $2, $3, $4, $5)`

// $1 events
const READ_EVENTS = `
  select q.event_id, q.topic, q.run, q.attempts, q.crashes,${CLAIMED_COLUMNS}
    from {schema}.queue q
   cross join lateral (select * from {schema}.events where id = q.event_id limit 1) e${joinReplay('q')}
   where q.event_id = any($1::uuid[]) and q.lane_id is null`

/** The topics of a source that have events without a lane. */
export async function listUnsorted(
  connection: Connection,
  source: string,
  positions: UnsortedPositions,
): Promise<readonly UnhandledTopic[]> {
  const found = await listFrom(connection, source, positions)
  if (found.length > 0 || !positions.forget(source)) return found
  // Something may be below the positions, as when a clock was set back.
  return listFrom(connection, source, positions)
}

async function listFrom(
  connection: Connection,
  source: string,
  positions: UnsortedPositions,
): Promise<readonly UnhandledTopic[]> {
  const starts = positions.begin(source)
  const { rows } = await connection.query<'topic' | 'type' | 'run_at' | 'asked_at'>(LIST_TOPICS, [
    source,
    ...topicRange(source),
    plainArray(starts.map(({ topic }) => topic)),
    lowWaters(starts.map(({ at }) => at)),
  ])
  const found = rows.map(({ topic, type, run_at, asked_at }) => ({
    topic: Number(topic),
    type,
    runAt: run_at == null ? undefined : Number(run_at),
    askedAt: Number(asked_at),
  }))
  positions.end(source, starts, found)
  return found.flatMap(({ topic, type }) => (type == null ? [] : [{ topic, source, type }]))
}

function lowWaters(positions: readonly (number | undefined)[]): string {
  return plainArray(positions.map((at) => (at === undefined ? '-infinity' : timestampOf(at))))
}

/** Inside a transaction of the caller, in the order in which they are to be sorted. */
export function lockUnsorted(
  connection: Connection,
  request: UnsortedRequest,
  positions: UnsortedPositions,
): Promise<readonly UnsortedEvent[]> {
  return listEvents(connection, LOCK_EVENTS, { request, positions })
}

/** With what is needed to tell their places. */
export async function readUnsorted(
  connection: Connection,
  request: UnsortedRequest,
  positions: UnsortedPositions,
): Promise<readonly ClaimedEvent[]> {
  const unsorted = await listEvents(connection, LIST_EVENTS, { request, positions })
  if (unsorted.length === 0) return []
  const ids = plainArray(unsorted.map(({ eventId }) => eventId))
  const { rows } = await connection.query(READ_EVENTS, [ids])
  const events = new Map(rows.map((row) => [row['event_id'], asClaimedEvent(row)]))
  return unsorted.flatMap(({ eventId }) => events.get(eventId) ?? [])
}

async function listEvents(
  connection: Connection,
  sql: string,
  { request, positions }: { request: UnsortedRequest; positions: UnsortedPositions },
): Promise<readonly UnsortedEvent[]> {
  const { source, topics, limit, also } = request
  const starts = topics.map((topic) => positions.find(source, topic))
  const values = [plainArray(topics), lowWaters(starts), limit, plainArray(also), CLAIM_BYTES_MAX]
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
