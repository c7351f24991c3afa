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
import type { Connection } from '../connection.ts'
import { SUMMARY_COLUMNS, SUMMARY_JOINS, asEventSummary } from './event-summary.ts'
import type { SummaryRow } from './event-summary.ts'
import { listLanes } from './pause-lane.ts'

const HAS_TEXT = `
              (instr(lower(coalesce(q.parked_reason, o.reason, '')), ?6) > 0
               or exists (select 1
                            from {prefix}attempts failed
                           where failed.event_id = e.id
                             and (instr(lower(failed.message), ?6) > 0
                                  or instr(lower(coalesce(failed.cause, '')), ?6) > 0
                                  or instr(lower(failed.reason), ?6) > 0)))`

// 1 below  2 from  3 limit  4 source or null  5 type or null  6 text or null  7 as the place needs it
const walk = (looked: string): string => `
  with looked as materialized (${looked}
          order by 1 desc
          limit ?3),
       fitting as materialized (
         select ${SUMMARY_COLUMNS}
           from looked
           join {prefix}events e on e.id = looked.id${SUMMARY_JOINS}
          where (?4 is null or e.source = ?4)
            and (?5 is null or e.type = ?5)
            and (?6 is null or ${HAS_TEXT}))
  select looked.id as looked_id, fitting.*
    from looked
    left join fitting on fitting.id = looked.id
   order by 1 desc`

const WALK = {
  events: walk(`
         select id
           from {prefix}events
          where id < ?1 and id >= ?2 and ?7 is null`),
  queue: walk(`
         select event_id as id
           from {prefix}queue
          where event_id < ?1 and event_id >= ?2 and ?7 is null`),
  running: walk(`
         select id
           from (select event_id as id
                   from {prefix}queue
                  where lease_token is not null
                  union
                 select r.value ->> 'eventId'
                   from {prefix}workers w, json_each(w.running) r) running
          where id < ?1 and id >= ?2 and ?7 is null`),
  parked: walk(`
         select event_id as id
           from {prefix}queue
          where parked = ?7 and parked is not null and event_id < ?1 and event_id >= ?2`),
  settled: walk(`
         select event_id as id
           from {prefix}outcomes
          where state = ?7 and state <> 'done' and event_id < ?1 and event_id >= ?2`),
} as const

export function walkEvents(
  connection: Connection,
  { place, ...request }: WalkRequest,
): readonly LookedEvent[] {
  if (typeof place === 'object' && 'lane' in place) return walkLane(connection, place.lane, request)
  const [sql, state] = findWalk(place)
  return look(connection, sql, [...values(request), state])
}

type StatePlace = Exclude<WalkPlace, { readonly lane: unknown }>

function findWalk(place: StatePlace): readonly [sql: string, state: string | null] {
  if (typeof place === 'string') return [WALK[place], null]
  return 'parked' in place ? [WALK.parked, place.parked] : [WALK.settled, place.settled]
}

// 7 key
const WALK_KEY = walk(`
         select id
           from {prefix}events
          where event_key = ?7 and id < ?1 and id >= ?2`)

export function walkKey(
  connection: Connection,
  key: string,
  request: Omit<WalkRequest, 'place'>,
): readonly LookedEvent[] {
  return look(connection, WALK_KEY, [...values(request), Buffer.from(key)])
}

// 1 lane  2 below  3 from  4 limit
//
// Lane by lane: for several at once SQLite would sort all that waits in them.
const LIST_WAITING = `
  select event_id as id
    from {prefix}queue
   where lane_id = ?
     and parked = 'waiting'
     and event_id < ?
     and event_id >= ?
   order by event_id desc
   limit ?`

// 1 lane
const LIST_ACTIVE = `
  select event_id as id
    from {prefix}queue
   where lane_id = ?
     and lane_id is not null
     and parked is not 'waiting'`

// 1 lane
const LIST_BLOCKS = `
  select event_id as id
    from {prefix}lane_blocks
   where lane_id = ?`

// 7 ids
const WALK_LANE = walk(`
         select value as id
           from json_each(?7)
          where value < ?1 and value >= ?2`)

function walkLane(
  connection: Connection,
  { source, key }: Extract<WalkPlace, { readonly lane: unknown }>['lane'],
  request: Omit<WalkRequest, 'place'>,
): readonly LookedEvent[] {
  const { below, from, limit } = request
  const found = listLanes(connection, source, key).flatMap((lane) => [
    ...connection.all<{ id: EventId }>(LIST_WAITING, [lane, below, from, limit]),
    ...connection.all<{ id: EventId }>(LIST_ACTIVE, [lane]),
    ...connection.all<{ id: EventId }>(LIST_BLOCKS, [lane]),
  ])
  const ids = new Set(found.map(({ id }) => id))
  return look(connection, WALK_LANE, [...values(request), JSON.stringify([...ids])])
}

// 7 ids
const SUMMARIZE = walk(`
         select id
           from {prefix}events
          where id in (select value from json_each(?7)) and id < ?1 and id >= ?2`)

export function summarize(
  connection: Connection,
  ids: readonly EventId[],
): readonly EventSummary[] {
  const all = values({ below: highestId, from: lowestId, limit: ids.length })
  const looked = look(connection, SUMMARIZE, [...all, JSON.stringify(ids)])
  return looked.flatMap(({ summary }) => summary ?? [])
}

function values({ below, from, limit, source, type, text }: Omit<WalkRequest, 'place'>): unknown[] {
  const lowered = text === undefined ? null : lowerAscii(text)
  return [below, from, limit, source ?? null, type ?? null, lowered]
}

function look(
  connection: Connection,
  sql: string,
  params: readonly unknown[],
): readonly LookedEvent[] {
  type LookedRow = { looked_id: string } & (SummaryRow | { id: null })
  return connection.all<LookedRow>(sql, params).map((row) => ({
    id: row.looked_id,
    summary: row.id === null ? undefined : asEventSummary(row),
  }))
}
