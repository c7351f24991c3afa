/**
 * Puts events that have no lane yet into theirs.
 *
 * One sorter of a source writes at a time, under an advisory lock, and in the order in which the events were stored: so
 * no event becomes ready before an older one of its lane that was there when it was sorted. With two at once the second
 * could take the younger half, and be done first.
 *
 * The places were found before, without a lock, and by functions of the user that may take their time. So the events
 * are listed again here: what another sorter has written is left out, and what was stored meanwhile ends the list
 * (`take-decided.ts`). A lane may span several types. The topics are listed after the events were locked: one that has
 * appeared in between may have an older event of the same lane, and then nothing is written.
 *
 * @module
 */

import type { DecidedEvent, SortRequest, SortResult } from '../../contract/lanes.ts'
import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import { takeDecided } from '../../shared/take-decided.ts'
import { plainArray, textArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import type { UnsortedPositions } from '../unsorted-positions.ts'
import { listUnsorted, lockUnsorted } from './list-unsorted.ts'
import { HOLD_LANE } from './mend-lanes.ts'
import { settle } from './settle.ts'

export const CREATE_SORT_EVENTS = `
create or replace function {schema}.sort_events(
  events uuid[], runs integer[], chosen uuid[], sources text[], keys text[], modes text[], numbers bigint[],
  firsts bigint[], places text[], waits_ms integer[], policies text[])
returns void language plpgsql set enable_seqscan = off set jit = off as $sort_events$
#variable_conflict use_column
begin
  insert into {schema}.lanes (lane_id, source, key, mode, next)
  select distinct on (s.mode = 'after', s.lane_id) s.lane_id, s.source, s.key, s.mode, s.first
    from unnest(chosen, sources, keys, modes, firsts) as s (lane_id, source, key, mode, first)
   order by s.mode = 'after', s.lane_id, s.first
      ${HOLD_LANE};
  -- A pause is of all lanes with a text: one that is new among them is paused as well. While events are sorted nothing
  -- of the source is paused or resumed.
  update {schema}.lanes l
     set paused_at = p.paused_at, paused_reason = p.paused_reason, paused_actor = p.paused_actor
    from {schema}.lanes p
   where l.lane_id = any(chosen) and l.paused_at is null
     and p.paused_at is not null and p.source = l.source and p.key = l.key;
  update {schema}.queue q
     set lane_id = s.lane_id, number = s.number, place = s.place, wait_ms = s.wait_ms,
         -- A person has retried what died of it: retry-event.ts.
         policy = case when q.policy = 'run' and s.policy = 'dead' then 'run' else s.policy end,
         parked = 'waiting'
    from unnest(events, runs, chosen, numbers, places, waits_ms, policies)
      as s (event_id, run, lane_id, number, place, wait_ms, policy)
   where q.event_id = any(events) and q.event_id = s.event_id and q.run = s.run;
  perform {schema}.mend_lanes(chosen);
end
$sort_events$;`

// $1 lock number
const TRY_LOCK = `
  select pg_try_advisory_xact_lock($1::bigint) as is_mine`

// $1 events  $2 runs  $3 lanes  $4 sources  $5 keys  $6 modes  $7 numbers  $8 first numbers  $9 places
// $10 waits in ms  $11 policies
const SORT = `
  select {schema}.sort_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

/** Inside a transaction of the caller. */
export async function sortEvents(
  connection: Connection,
  request: SortRequest,
  { sortLock, positions }: { sortLock: string; positions: UnsortedPositions },
): Promise<SortResult> {
  const locked = await connection.query<'is_mine'>(TRY_LOCK, [sortLock])
  if (locked.rows[0]?.is_mine !== 't') return { status: 'busy' }
  const unsorted = await lockUnsorted(connection, request, positions)
  if (await hasNewTopic(connection, request, positions)) return { status: 'changed' }
  const events = takeDecided(unsorted, request.decided)
  await write(connection, events)
  return { status: 'sorted', events }
}

async function hasNewTopic(
  connection: Connection,
  { source, topics, unordered }: SortRequest,
  positions: UnsortedPositions,
): Promise<boolean> {
  const known = new Set([...topics, ...unordered])
  const found = await listUnsorted(connection, source, positions)
  return found.some(({ topic }) => !known.has(topic))
}

async function write(connection: Connection, events: readonly DecidedEvent[]): Promise<void> {
  const placed: PlacedEvent[] = []
  const dead = events.flatMap(({ event, becomes }) => {
    if ('state' in becomes) return [becomes]
    placed.push({ event, placement: becomes })
    return []
  })
  if (placed.length > 0) await writePlaces(connection, placed)
  if (dead.length > 0) await settle(connection, undefined, dead)
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
