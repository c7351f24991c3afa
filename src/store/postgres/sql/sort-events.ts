/**
 * Puts events that have no lane yet into theirs.
 *
 * One sorter of a source at a time, under an advisory lock, and in the order in which the events were stored: so no
 * event becomes ready before an older one of its lane that was there when it was sorted. With two sorters the second
 * could take the younger half, and be done first.
 *
 * A lane may span several types. The topics that have something to sort are listed after the events were chosen: one
 * that has appeared in between may have an older event of the same lane, and then it is chosen anew.
 *
 * @module
 */

import type { SortedEvent, SortRequest } from '../../contract/lanes.ts'
import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import type { Topic } from '../../../model/topic.ts'
import { plainArray, textArray } from '../binary-array.ts'
import type { Connection, TextRow } from '../connection.ts'
import { asClaimedEvent, CLAIM_BYTES_MAX, CLAIMED_COLUMNS, DUE, joinReplay } from './claim-group.ts'
import { settle } from './settle.ts'

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

// The rows are waited for: one that another transaction holds for a moment is not to be overtaken.
export const CREATE_UNSORTED_EVENTS = `
create or replace function {schema}.unsorted_events(topics bigint[], most integer, also uuid[])
returns table (event_id uuid, run integer)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $unsorted_events$
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
         select counted.event_id, counted.run
           from counted
          where counted.total <= ${CLAIM_BYTES_MAX} or counted.place = 1
          union
         select q.event_id, q.run
           from {schema}.queue q
          where q.event_id = any(also) and q.lease_token is null)
  select q.event_id, q.run
    from chosen
    join {schema}.queue q on q.event_id = chosen.event_id and q.run = chosen.run
   where q.lane is null and q.parked is null
   order by q.event_id, q.run
     for update of q;
end
$unsorted_events$;`

export const CREATE_SORT_EVENTS = `
create or replace function {schema}.sort_events(
  events uuid[], runs integer[], chosen uuid[], sources text[], keys text[], modes text[], numbers bigint[],
  firsts bigint[], places text[], waits_ms integer[], policies text[])
returns void language plpgsql set enable_seqscan = off set jit = off as $sort_events$
#variable_conflict use_column
begin
  -- A pause is of all lanes with a text: one that is new among them is paused as well.
  insert into {schema}.lanes (lane, source, key, mode, next, paused_at, paused_reason, paused_by)
  select distinct on (s.mode = 'after', s.lane) s.lane, s.source, s.key, s.mode, s.first, p.paused_at,
         p.paused_reason, p.paused_by
    from unnest(chosen, sources, keys, modes, firsts) as s (lane, source, key, mode, first)
    left join {schema}.lanes p on p.paused_at is not null and p.source = s.source and p.key = s.key
   order by s.mode = 'after', s.lane, s.first
      on conflict do nothing;
  update {schema}.queue q
     set lane = s.lane, number = s.number, place = s.place, wait_ms = s.wait_ms, policy = s.policy,
         parked = 'waiting'
    from unnest(events, runs, chosen, numbers, places, waits_ms, policies)
      as s (event_id, run, lane, number, place, wait_ms, policy)
   where q.event_id = any(events) and q.event_id = s.event_id and q.run = s.run;
  perform {schema}.mend_lanes(chosen);
end
$sort_events$;`

// $1 lock number
const TRY_LOCK = `
  select pg_try_advisory_xact_lock($1::bigint) as is_mine`

// $1 source
const LIST_TOPICS = `
  select topic, type from {schema}.unsorted_topics($1)`

// $1 topics  $2 limit  $3 others
const CHOOSE = `
  select event_id, run from {schema}.unsorted_events($1, $2, $3)`

// $1 events
const EVENTS = `
  select q.event_id, q.topic, q.run, q.attempts, q.crashes,${CLAIMED_COLUMNS}
    from {schema}.queue q
   cross join lateral (select * from {schema}.events where id = q.event_id limit 1) e${joinReplay('q')}
   where q.event_id = any($1::uuid[]) and q.lane is null
   order by q.event_id, q.run`

// $1 events  $2 runs  $3 lanes  $4 sources  $5 keys  $6 modes  $7 numbers  $8 first numbers  $9 places
// $10 waits in ms  $11 policies
const SORT = `
  select {schema}.sort_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

/** `undefined` when another sorter is at it. Inside a transaction of the caller. */
export async function sortEvents(
  connection: Connection,
  request: SortRequest,
  sortLock: string,
): Promise<readonly SortedEvent[] | undefined> {
  const locked = await connection.query<'is_mine'>(TRY_LOCK, [sortLock])
  if (locked.rows[0]?.is_mine !== 't') return undefined
  const events = await chooseEvents(connection, request)
  const placed: PlacedEvent[] = []
  const sorted = events.map((event): SortedEvent => {
    const found = request.place(event)
    if ('state' in found) return { event, dead: found }
    placed.push({ event, placement: found })
    return { event, dead: undefined }
  })
  if (placed.length > 0) await writePlaces(connection, placed)
  const dead = sorted.flatMap((each) => each.dead ?? [])
  if (dead.length > 0) await settle(connection, undefined, dead)
  return sorted
}

async function chooseEvents(
  connection: Connection,
  { source, isOrdered, limit, also }: SortRequest,
): Promise<readonly ClaimedEvent[]> {
  let known: readonly Topic[] = await listTopics(connection, source, isOrdered)
  for (;;) {
    const values = [plainArray(known), limit, plainArray(also)]
    const { rows } = await connection.query<'event_id' | 'run'>(CHOOSE, values)
    const now = await listTopics(connection, source, isOrdered)
    if (now.every((topic) => known.includes(topic))) return readEvents(connection, rows)
    known = now
  }
}

async function listTopics(
  connection: Connection,
  source: string,
  isOrdered: (type: string) => boolean,
): Promise<readonly Topic[]> {
  const { rows } = await connection.query<'topic' | 'type'>(LIST_TOPICS, [source])
  return rows.filter(({ type }) => isOrdered(type ?? '')).map(({ topic }) => Number(topic))
}

async function readEvents(
  connection: Connection,
  chosen: readonly TextRow<'event_id' | 'run'>[],
): Promise<readonly ClaimedEvent[]> {
  if (chosen.length === 0) return []
  const events = plainArray(chosen.map(({ event_id }) => event_id ?? ''))
  const { rows } = await connection.query(EVENTS, [events])
  return rows.map(asClaimedEvent)
}

interface PlacedEvent {
  readonly event: ClaimedEvent
  readonly placement: Placement
}

async function writePlaces(connection: Connection, placed: readonly PlacedEvent[]): Promise<void> {
  const places = placed.map(({ placement }) => placement)
  await connection.query(SORT, [
    plainArray(placed.map(({ event }) => event.eventId)),
    plainArray(placed.map(({ event }) => event.run)),
    plainArray(places.map(({ lane }) => lane.id)),
    textArray(places.map(({ lane }) => lane.source)),
    textArray(places.map(({ lane }) => lane.key)),
    plainArray(places.map(({ lane }) => lane.mode)),
    plainArray(places.map(({ number }) => number ?? 'null')),
    plainArray(places.map((each) => each.first ?? 'null')),
    textArray(places.map(({ place }) => place ?? null)),
    plainArray(places.map(({ waitMs }) => waitMs ?? 'null')),
    textArray(places.map(({ policy }) => policy ?? null)),
  ])
}
