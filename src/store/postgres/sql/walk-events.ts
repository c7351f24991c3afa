/**
 * Looks at so many events in one place, newest first.
 *
 * Which events are looked at is decided before anything else is asked of them, so that the number of rows that are
 * read does not depend on how many of them fit. A condition beside the limit would read on until it has enough: a
 * source with one event in a million would be a look at a million.
 *
 * @module
 */

import type { EventSummary } from '../../../model/event-summary.ts'
import type { EventId } from '../../../model/event.ts'
import { highestId, lowestId } from '../../../model/id-range.ts'
import type { LookedEvent, WalkPlace, WalkRequest } from '../../contract/event-search.ts'
import { lowerAscii } from '../../shared/cut-text.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import { SUMMARY_COLUMNS, SUMMARY_TABLES, asEventSummary } from './event-summary.ts'
import { listLanes } from './pause-lane.ts'

const HAS_TEXT = `
              (strpos(lower(coalesce(q.parked_reason, o.reason, '') collate "C"), $6) > 0
               or exists (select
                            from {schema}.attempts failed
                           where failed.event_id = e.id
                             and (strpos(lower(failed.message collate "C"), $6) > 0
                                  or strpos(lower(coalesce(failed.cause, '') collate "C"), $6) > 0
                                  or strpos(lower(failed.reason collate "C"), $6) > 0)))`

// $1 below  $2 from  $3 limit  $4 source or null  $5 type or null  $6 text or null  $7 as the place needs it
const walk = (looked: string): string => `
  with looked as materialized (${looked}
          limit $3)
  select looked.id as looked_id, fitting.*
    from looked
    left join lateral (
      select ${SUMMARY_COLUMNS}
        from ${SUMMARY_TABLES}
       where e.id = looked.id
         and ($4::text is null or e.source = $4)
         and ($5::text is null or e.type = $5)
         and ($6::text is null or ${HAS_TEXT})) fitting on true
   order by 1 desc`

const WALK = {
  events: walk(`
         select id
           from {schema}.events
          where id < $1 and id >= $2 and $7::text is null
          order by 1 desc`),
  queue: walk(`
         select event_id as id
           from {schema}.queue
          where event_id < $1 and event_id >= $2 and $7::text is null
          order by 1 desc`),
  running: walk(`
         select id
           from (select event_id as id
                   from {schema}.queue
                  where lease_token is not null
                  union
                 select unnest(running)
                   from {schema}.workers) running
          where id < $1 and id >= $2 and $7::text is null
          order by 1 desc`),
  parked: walk(`
         select event_id as id
           from {schema}.queue
          where parked = $7 and parked is not null and event_id < $1 and event_id >= $2
          order by 1 desc`),
  settled: walk(`
         select event_id as id
           from {schema}.outcomes
          where state = $7 and state <> 'done' and event_id < $1 and event_id >= $2
          order by 1 desc`),
  lane: walk(`
         select id
           from unnest($7::uuid[]) as wanted (lane_id)
          cross join lateral (
                (select event_id as id
                   from {schema}.queue
                  where queue.lane_id = wanted.lane_id and parked = 'waiting' and event_id < $1 and event_id >= $2
                  order by event_id desc
                  limit $3)
                  union
                (select event_id
                   from {schema}.queue
                  where queue.lane_id = wanted.lane_id and queue.lane_id is not null and parked is distinct from 'waiting'
                    and event_id < $1 and event_id >= $2)
                  union
                (select event_id
                   from {schema}.lane_blocks
                  where lane_blocks.lane_id = wanted.lane_id and event_id < $1 and event_id >= $2)) found
          group by id
          order by 1 desc`),
} as const

export async function walkEvents(
  connection: Connection,
  { place, ...request }: WalkRequest,
): Promise<readonly LookedEvent[]> {
  if (typeof place === 'object' && 'lane' in place) {
    const lanes = await listLanes(connection, place.lane.source, place.lane.key)
    return look(connection, WALK.lane, [...values(request), plainArray(lanes)])
  }
  const [sql, state] = findWalk(place)
  return look(connection, sql, [...values(request), state])
}

type StatePlace = Exclude<WalkPlace, { readonly lane: unknown }>

function findWalk(place: StatePlace): readonly [sql: string, state: string | null] {
  if (typeof place === 'string') return [WALK[place], null]
  return 'parked' in place ? [WALK.parked, place.parked] : [WALK.settled, place.settled]
}

// $7 key
//
// A key may be longer than an index entry, so the index has its hash.
const WALK_KEY = walk(`
         select id
           from {schema}.events
          where sha256(event_key) = sha256($7::bytea) and id < $1 and id >= $2
          order by 1 desc`)

export async function walkKey(
  connection: Connection,
  key: string,
  request: Omit<WalkRequest, 'place'>,
): Promise<readonly LookedEvent[]> {
  return look(connection, WALK_KEY, [...values(request), Buffer.from(key)])
}

// $7 ids
const SUMMARIZE = walk(`
         select id
           from {schema}.events
          where id = any($7::uuid[]) and id < $1 and id >= $2
          order by 1 desc`)

export async function summarize(
  connection: Connection,
  ids: readonly EventId[],
): Promise<readonly EventSummary[]> {
  const all = values({ below: highestId, from: lowestId, limit: ids.length })
  const looked = await look(connection, SUMMARIZE, [...all, plainArray(ids)])
  return looked.flatMap(({ summary }) => summary ?? [])
}

function values({ below, from, limit, source, type, text }: Omit<WalkRequest, 'place'>): unknown[] {
  const asText = (value: string | undefined) => (value === undefined ? null : withoutNul(value))
  return [below, from, limit, asText(source), asText(type), asText(text && lowerAscii(text))]
}

async function look(
  connection: Connection,
  sql: string,
  params: unknown[],
): Promise<readonly LookedEvent[]> {
  const { rows } = await connection.query(sql, params)
  return rows.map((row) => ({
    id: row['looked_id'] ?? '',
    summary: row['id'] == null ? undefined : asEventSummary(row),
  }))
}
