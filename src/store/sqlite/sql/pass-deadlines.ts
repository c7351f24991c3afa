import type { DeadlineRequest, LateTopic, PassedDeadline } from '../../contract/lanes.ts'
import { timeOfId } from '../../../model/id-range.ts'
import { topicOf } from '../../../model/topic.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { DUE } from './claim-group.ts'
import { blockLane, mendLanes } from './mend-lanes.ts'
import { nameEvent } from './sweep-workers.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const LIST_LATE = `
  select late.topic, late.place, e.source, cast(e.type as blob) as type
    from (select topic, place, min(event_id) as event_id
            from {prefix}queue
           where parked = 'waiting'
             and wait_until is not null
             and wait_until <= ${NOW}
           group by topic, place) late
    join {prefix}events e on e.id = late.event_id`

// 1 topic
const FIND_OLDEST: readonly string[] = [
  oldest(DUE.fresh, 'q.run_at, q.event_id'),
  oldest(DUE.head),
  oldest('q.attempts = 1 and q.lease_token is not null'),
]

function oldest(which: string, order = 'q.event_id'): string {
  return `
  select q.event_id, q.run_at
    from {prefix}queue q
   where ${which}
     and q.topic = ?
   order by ${order}
   limit 1`
}

// 1 topic  2 place  3 only those that were to wait until then, or null  4 limit
const LIST = `
  select q.event_id, q.run, q.attempts, q.number, q.place, q.policy, q.lane_id, l.mode, l.next,
         l.mode = 'after'
         or (not exists (select 1 from {prefix}queue a
                          where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is not 'waiting')
             and not exists (select 1 from {prefix}queue lower
                              where lower.lane_id = l.lane_id and lower.parked = 'waiting' and lower.number is not null
                                and (lower.number, lower.event_id) < (q.number, q.event_id))) as is_first
    from {prefix}queue q
    join {prefix}lanes l on l.lane_id = q.lane_id
   where q.parked = 'waiting'
     and q.wait_until is not null
     and q.wait_until <= ${NOW}
     and q.topic = ?1
     and q.place is ?2
     and (?3 is null or q.wait_until <= ?3)
     and l.paused_at is null
   order by q.wait_until
   limit ?4`

// 1 event id
const STOP_WAITING = `
  update {prefix}queue
     set wait_until = null
   where event_id = ?`

// 1 event id
const MAKE_READY = `
  update {prefix}queue
     set parked = null,
         parked_reason = null,
         wait_until = null,
         run_at = ${NOW}
   where event_id = ?`

// 1 the number that comes next  2 lane
const MOVE_ON = `
  update {prefix}lanes
     set next = ?
   where lane_id = ?
     and mode = 'sequence'`

// 1 event id  2 run
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?
     and run = ?`

// 1 event id  2 run  3 attempts  4 reason  5 lane  6 place
const INSERT_DEAD = `
  insert into {prefix}outcomes
         (event_id, run, state, attempts, duration_ms, reason, settled_at, lane_id, place)
  values (?, ?, 'dead', ?, 0, ?, ${NOW}, ?, ?)`

// 1 event id  2 run  3 attempts  4 reason
const INSERT_ATTEMPT = `
  insert into {prefix}attempts
         (event_id, run, attempt, reason, message, duration_ms, failed_at)
  values (?, ?, ?, 'order', ?, 0, ${NOW})`

export function listLate(connection: Connection): readonly LateTopic[] {
  type Row = { topic: number; place: string | null; source: string; type: Uint8Array }
  return connection.all<Row>(LIST_LATE).map(({ topic, place, source, type }) => ({
    topic,
    source,
    type: decodeText(type),
    requires: place ?? undefined,
  }))
}

/** Decides about events whose time to wait is over. Inside a write transaction. */
export function passDeadlines(
  connection: Connection,
  { late, limit }: DeadlineRequest,
): readonly PassedDeadline[] {
  const rows = late
    .flatMap(({ topic, source, requires }) => {
      // What they wait for may be the oldest that was not tried yet.
      const since = requires === undefined ? undefined : findOldest(connection, source, requires)
      return connection.all<LateRow>(LIST, [topic, requires, since, limit])
    })
    .slice(0, limit)
  const passed = rows.flatMap((row): PassedDeadline[] => {
    const { event_id: eventId, attempts } = row
    if (row.is_first === 0) {
      // It waits from the time on when it is the lowest.
      connection.run(STOP_WAITING, [eventId])
      return []
    }
    const reason = describe(row)
    const becomes = row.policy === 'run' ? 'ready' : 'dead'
    if (becomes === 'ready') {
      connection.run(MOVE_ON, [row.number, row.lane_id])
      connection.run(MAKE_READY, [eventId])
    } else {
      connection.run(DEQUEUE, [eventId, row.run])
      connection.run(INSERT_DEAD, [eventId, row.run, attempts, reason, row.lane_id, row.place])
      connection.run(INSERT_ATTEMPT, [eventId, row.run, attempts, reason])
      if (row.mode === 'sequence') blockLane(connection, row.lane_id, { eventId, run: row.run })
    }
    return [{ eventId, ...nameEvent(connection, eventId), attempt: attempts, becomes, reason }]
  })
  mendLanes(
    connection,
    rows.map(({ lane_id }) => lane_id),
  )
  return passed
}

/** When the oldest event of a type was stored that was not tried yet. What that is, is said on PostgreSQL. */
function findOldest(connection: Connection, source: string, type: string): number | undefined {
  const topic = topicOf(source, type)
  const found = FIND_OLDEST.flatMap((find) => connection.all<OldestRow>(find, [topic]))
  if (found.length === 0) return undefined
  return Math.min(...found.map(({ event_id, run_at }) => Math.min(run_at, timeOfId(event_id))))
}

type OldestRow = { event_id: string; run_at: number }

function describe({ mode, place, next, number }: LateRow): string {
  if (mode === 'after') return `no ${place} was done in its lane in time`
  const last = Number(number) - 1
  return next === last
    ? `number ${next} of its lane did not come in time`
    : `numbers ${next} to ${last} of its lane did not come in time`
}

type LateRow = {
  event_id: string
  run: number
  attempts: number
  number: number | null
  place: string | null
  policy: string | null
  lane_id: string
  mode: string
  next: number | null
  is_first: number
}
