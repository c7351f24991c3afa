import type { PassedDeadline } from '../../contract/lanes.ts'
import type { Connection } from '../connection.ts'
import { blockLane, mendLanes } from './mend-lanes.ts'
import { nameEvent } from './sweep-workers.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const IS_ANY_DUE = `
  select 1 as found
    from {prefix}queue
   where parked = 'waiting'
     and wait_until is not null
     and wait_until <= ${NOW}
   limit 1`

// 1 limit
const LIST = `
  select q.event_id, q.run, q.attempts, q.number, q.place, q.policy, q.lane, l.mode, l.next,
         l.mode = 'after'
         or (not exists (select 1 from {prefix}queue a
                          where a.lane = l.lane and a.lane is not null and a.parked is not 'waiting')
             and not exists (select 1 from {prefix}queue lower
                              where lower.lane = l.lane and lower.parked = 'waiting' and lower.number is not null
                                and (lower.number, lower.event_id) < (q.number, q.event_id))) as is_first
    from {prefix}queue q
    join {prefix}lanes l on l.lane = q.lane
   where q.parked = 'waiting'
     and q.wait_until is not null
     and q.wait_until <= ${NOW}
     and l.paused_at is null
   order by q.wait_until
   limit ?`

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
   where lane = ?
     and mode = 'sequence'`

// 1 event id  2 run
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?
     and run = ?`

// 1 event id  2 run  3 attempts  4 reason
const INSERT_DEAD = `
  insert into {prefix}outcomes
         (event_id, run, state, attempts, duration_ms, reason, settled_at)
  values (?, ?, 'dead', ?, 0, ?, ${NOW})`

// 1 event id  2 run  3 attempts  4 reason
const INSERT_ATTEMPT = `
  insert into {prefix}attempts
         (event_id, run, attempt, reason, message, duration_ms, failed_at)
  values (?, ?, ?, 'order', ?, 0, ${NOW})`

/** Whether there is anything to decide, asked without the write lock. */
export function hasDeadlines(connection: Connection): boolean {
  return connection.all(IS_ANY_DUE).length > 0
}

/** Decides about events whose time to wait is over. Inside a write transaction. */
export function passDeadlines(connection: Connection, limit: number): readonly PassedDeadline[] {
  const rows = connection.all<LateRow>(LIST, [limit])
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
      connection.run(MOVE_ON, [row.number, row.lane])
      connection.run(MAKE_READY, [eventId])
    } else {
      connection.run(DEQUEUE, [eventId, row.run])
      connection.run(INSERT_DEAD, [eventId, row.run, attempts, reason])
      connection.run(INSERT_ATTEMPT, [eventId, row.run, attempts, reason])
      if (row.mode === 'sequence') blockLane(connection, row.lane, { eventId, run: row.run })
    }
    return [{ eventId, ...nameEvent(connection, eventId), attempt: attempts, becomes, reason }]
  })
  mendLanes(
    connection,
    rows.map(({ lane }) => lane),
  )
  return passed
}

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
  lane: string
  mode: string
  next: number | null
  is_first: number
}
