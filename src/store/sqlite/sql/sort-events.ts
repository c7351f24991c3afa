/**
 * Puts events that have no lane yet into theirs, in the order in which they were stored. A write transaction lets no
 * other sorter in, and no event that is older than what it sees.
 *
 * @module
 */

import type { SortedEvent, SortRequest } from '../../contract/lanes.ts'
import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { asClaimedEvent, CLAIMED_COLUMNS, DUE, REPLAY } from './claim-group.ts'
import type { ClaimedRow } from './claim-group.ts'
import { mendLanes } from './mend-lanes.ts'
import { settle } from './settle.ts'

// 1 the topic after which to look
const NEXT_TOPIC = `
  select q.topic, e.source, cast(e.type as blob) as type
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id
   where ${DUE.fresh}
     and q.topic > ?
   order by q.topic, q.run_at, q.event_id
   limit 1`

const EVENTS = `
  select ${CLAIMED_COLUMNS}, q.run_at
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id${REPLAY}`

// 1 topic  2 limit
const LIST_FRESH = `${EVENTS}
   where ${DUE.fresh}
     and q.topic = ?
   order by q.run_at, q.event_id
   limit ?`

// 1 events as JSON
const LIST_OTHERS = `${EVENTS}
   where q.event_id in (select value from json_each(?))
     and q.lane is null
     and q.parked is null
     and q.lease_token is null`

// A pause is of all lanes with a text: one that is new among them is paused as well.
//
// 1 lane  2 source  3 key  4 mode  5 the number it begins with
const INSERT_LANE = `
  insert into {prefix}lanes (lane, source, key, mode, next, paused_at, paused_reason, paused_by)
  select ?1, ?2, ?3, ?4, ?5, p.paused_at, p.paused_reason, p.paused_by
    from (select 1)
    left join {prefix}lanes p on p.paused_at is not null and p.source = ?2 and p.key = ?3
   where true
   limit 1
      on conflict do nothing`

// 1 lane  2 number  3 place  4 policy  5 wait in ms  6 event id  7 run
const PLACE = `
  update {prefix}queue
     set lane = ?,
         number = ?,
         place = ?,
         policy = ?,
         wait_ms = ?,
         parked = 'waiting'
   where event_id = ?
     and run = ?`

/** Whether there may be anything to sort, asked without the write lock. */
export function hasUnsorted(connection: Connection, request: SortRequest): boolean {
  return request.also.length > 0 || listTopics(connection, request).length > 0
}

/** Inside a write transaction. */
export function sortEvents(connection: Connection, request: SortRequest): readonly SortedEvent[] {
  const lanes: string[] = []
  const sorted = listUnsorted(connection, request).map((event): SortedEvent => {
    const found = request.place(event)
    if ('state' in found) {
      settle(connection, found)
      return { event, dead: found }
    }
    writePlace(connection, event, found)
    lanes.push(found.lane.id)
    return { event, dead: undefined }
  })
  mendLanes(connection, lanes)
  return sorted
}

function listUnsorted(connection: Connection, request: SortRequest): readonly ClaimedEvent[] {
  const { limit, also } = request
  type Row = ClaimedRow & { run_at: number }
  const fresh = listTopics(connection, request)
    .flatMap((topic) => connection.all<Row>(LIST_FRESH, [topic, limit]))
    .toSorted((one, other) => one.run_at - other.run_at || compare(one.event_id, other.event_id))
    .slice(0, limit)
  const others = connection.all<Row>(LIST_OTHERS, [JSON.stringify(also)])
  const rows = new Map([...fresh, ...others].map((row) => [row.event_id, row]))
  return [...rows.values()]
    .toSorted((one, other) => compare(one.event_id, other.event_id))
    .map(asClaimedEvent)
}

function listTopics(connection: Connection, { source, isOrdered }: SortRequest): readonly number[] {
  type Row = { topic: number; source: string; type: Uint8Array }
  const topics: number[] = []
  for (let last = -1; ;) {
    const [row] = connection.all<Row>(NEXT_TOPIC, [last])
    if (row === undefined) return topics
    last = row.topic
    if (row.source === source && isOrdered(decodeText(row.type))) topics.push(row.topic)
  }
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

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
