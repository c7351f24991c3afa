/**
 * Puts events that have no lane yet into theirs, in the order in which they were stored. A write transaction lets no
 * other sorter in, and no event that is older than what it sees. The places were found before it: what has changed
 * since is found as on PostgreSQL, and said there.
 *
 * @module
 */

import type { SortRequest, SortResult } from '../../contract/lanes.ts'
import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import { takeDecided } from '../../shared/take-decided.ts'
import type { Connection } from '../connection.ts'
import { listUnsorted, listUnsortedEvents } from './list-unsorted.ts'
import { mendLanes } from './mend-lanes.ts'
import { settle } from './settle.ts'

// A pause is of all lanes with a text: one that is new among them is paused as well.
//
// 1 lane  2 source  3 key  4 mode  5 the number it begins with
const INSERT_LANE = `
  insert into {prefix}lanes (lane_id, source, key, mode, next, paused_at, paused_reason, paused_actor, used_at)
  select ?1, ?2, ?3, ?4, ?5, p.paused_at, p.paused_reason, p.paused_actor,
         cast(unixepoch('subsec') * 1000 as integer)
    from (select 1)
    left join {prefix}lanes p on p.paused_at is not null and p.source = ?2 and p.key = ?3
   where true
   limit 1
      on conflict do nothing`

// A person has retried what died of it: `retry-event.ts`.
//
// 1 lane  2 number  3 place  4 policy  5 wait in ms  6 event id  7 run
const PLACE = `
  update {prefix}queue
     set lane_id = ?1,
         number = ?2,
         place = ?3,
         policy = case when policy = 'run' and ?4 = 'dead' then 'run' else ?4 end,
         wait_ms = ?5,
         parked = 'waiting'
   where event_id = ?6
     and run = ?7`

/** Inside a write transaction. */
export function sortEvents(connection: Connection, request: SortRequest): SortResult {
  if (hasNewTopic(connection, request)) return { status: 'changed' }
  const events = takeDecided(listUnsortedEvents(connection, request), request.decided)
  const lanes: string[] = []
  for (const { event, becomes } of events) {
    if ('state' in becomes) {
      settle(connection, becomes)
      continue
    }
    writePlace(connection, event, becomes)
    lanes.push(becomes.lane.id)
  }
  mendLanes(connection, lanes)
  return { status: 'sorted', events }
}

function hasNewTopic(connection: Connection, { source, topics, unordered }: SortRequest): boolean {
  const known = new Set([...topics, ...unordered])
  return listUnsorted(connection, source).some(({ topic }) => !known.has(topic))
}

function writePlace(
  connection: Connection,
  { eventId, run }: ClaimedEvent,
  { lane, number, first, place, policy, waitMs }: Placement,
): void {
  const { id, source, mode } = lane
  connection.run(INSERT_LANE, [id, source, lane.key.replaceAll('\0', '\ufffd'), mode, first])
  connection.run(PLACE, [id, number, place, policy, waitMs, eventId, run])
}
