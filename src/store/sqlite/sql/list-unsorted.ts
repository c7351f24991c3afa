/**
 * Finds the events that have no lane yet, oldest first. Read beside the writer, and once more by the transaction that
 * writes their places (`sort-events.ts`).
 *
 * @module
 */

import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { UnsortedRequest } from '../../contract/lanes.ts'
import type { UnhandledTopic } from '../../contract/queue.ts'
import type { UnsortedEvent } from '../../shared/take-decided.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { asClaimedEvent, CLAIMED_COLUMNS, DUE, REPLAY } from './claim-group.ts'
import type { ClaimedRow } from './claim-group.ts'

// 1 the topic after which to look
const NEXT_TOPIC = `
  select q.topic, e.source, cast(e.type as blob) as type
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id
   where ${DUE.fresh}
     and q.topic > ?
   order by q.topic, q.run_at, q.event_id
   limit 1`

// 1 topic  2 limit
const LIST_FRESH = `
  select q.event_id, q.run, q.attempts, q.run_at
    from {prefix}queue q
   where ${DUE.fresh}
     and q.topic = ?
   order by q.run_at, q.event_id
   limit ?`

// 1 events as JSON
const LIST_TRIED = `
  select q.event_id, q.run, q.attempts
    from {prefix}queue q
   where q.event_id in (select value from json_each(?))
     and q.lane_id is null
     and q.parked is null
     and q.lease_token is null
     and not (${DUE.fresh})
   order by q.event_id`

// 1 event id  2 run
const READ_EVENT = `
  select ${CLAIMED_COLUMNS}
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id${REPLAY}
   where q.event_id = ?
     and q.run = ?`

/** The topics of a source that have events without a lane. */
export function listUnsorted(connection: Connection, source: string): readonly UnhandledTopic[] {
  type Row = { topic: number; source: string; type: Uint8Array }
  const topics: UnhandledTopic[] = []
  for (let last = -1; ;) {
    const [row] = connection.all<Row>(NEXT_TOPIC, [last])
    if (row === undefined) return topics
    last = row.topic
    if (row.source === source) topics.push({ topic: row.topic, source, type: decodeText(row.type) })
  }
}

/** In the order in which they are to be sorted. */
export function listUnsortedEvents(
  connection: Connection,
  { topics, limit, also }: UnsortedRequest,
): readonly UnsortedEvent[] {
  const fresh = topics
    .flatMap((topic) => connection.all<FreshRow>(LIST_FRESH, [topic, limit]))
    .toSorted((one, other) => one.run_at - other.run_at || compare(one.event_id, other.event_id))
    .slice(0, limit)
  const tried = connection.all<UnsortedRow>(LIST_TRIED, [JSON.stringify(also)])
  return [
    ...fresh.map((row) => ({ ...asUnsorted(row), isTried: false })),
    ...tried.map((row) => ({ ...asUnsorted(row), isTried: true })),
  ]
}

/** With what is needed to tell their places. */
export function readUnsorted(
  connection: Connection,
  request: UnsortedRequest,
): readonly ClaimedEvent[] {
  return listUnsortedEvents(connection, request).flatMap(({ eventId, run }) =>
    connection.all<ClaimedRow>(READ_EVENT, [eventId, run]).map(asClaimedEvent),
  )
}

type UnsortedRow = { event_id: string; run: number; attempts: number }
type FreshRow = UnsortedRow & { run_at: number }

function asUnsorted({ event_id, run, attempts }: UnsortedRow) {
  return { eventId: event_id, run, attempts }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
