import type { Ordered } from '../../contract/operators.ts'
import { subjectOfPause } from '../../contract/pauses.ts'
import type { PauseActed, PausedLane } from '../../contract/pauses.ts'
import type { Connection } from '../connection.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { findByToken, writeAudit } from './audit.ts'
import { mendLanes } from './mend-lanes.ts'

// 1 source  2 key
const LIST = `
  select lane_id
    from {prefix}lanes
   where source = ?
     and key = ?`

// 1 reason  2 actor  3 lane
const PAUSE = `
  update {prefix}lanes
     set paused_at = cast(unixepoch('subsec') * 1000 as integer),
         paused_reason = ?,
         paused_actor = ?
   where lane_id = ?
     and paused_at is null`

// What waits for something missing does so for its whole time again when the lane goes on.
//
// 1 lane
const STOP_WAITING = `
  update {prefix}queue
     set wait_until = null
   where lane_id = ?
     and parked = 'waiting'
     and wait_until is not null`

// 1 lane
const RESUME = `
  update {prefix}lanes
     set paused_at = null,
         paused_reason = null,
         paused_actor = null
   where lane_id = ?
     and paused_at is not null`

/** Inside a write transaction, as all here. */
export function pauseLane(connection: Connection, subject: PausedLane, order: Ordered): PauseActed {
  const deed = { action: 'pause', ...subjectOfPause(subject) }
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  const lanes = listLanes(connection, subject.source, subject.name)
  if (lanes.length === 0) return { status: 'refused', code: 'LANE_UNKNOWN' }
  const texts = [order.reason, order.actor].map((text) =>
    text === undefined ? null : withoutNul(text),
  )
  const paused = lanes.filter((lane) => connection.run(PAUSE, [...texts, lane]) > 0)
  if (paused.length === 0) return { status: 'refused', code: 'PAUSED' }
  // It puts back what no worker has in hand.
  mendLanes(connection, paused)
  for (const lane of paused) connection.run(STOP_WAITING, [lane])
  return writeAudit(connection, deed, order, { status: 'done' })
}

export function resumeLane(
  connection: Connection,
  subject: PausedLane,
  order: Ordered,
): PauseActed {
  const deed = { action: 'resume', ...subjectOfPause(subject) }
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  const lanes = listLanes(connection, subject.source, subject.name)
  const resumed = lanes.filter((lane) => connection.run(RESUME, [lane]) > 0)
  if (resumed.length === 0) return { status: 'refused', code: 'NOT_PAUSED' }
  mendLanes(connection, resumed)
  return writeAudit(connection, deed, order, { status: 'done' })
}

/** The lanes of a source with this text: one of each mode at most. */
export function listLanes(connection: Connection, source: string, key: string): readonly string[] {
  return connection
    .all<{ lane_id: string }>(LIST, [source, withoutNul(key)])
    .map(({ lane_id }) => lane_id)
}
