import type { Connection } from '../connection.ts'
import { mendLanes } from './mend-lanes.ts'

// 1 source  2 key
const LIST = `
  select lane
    from {prefix}lanes
   where source = ?
     and key = ?`

// 1 lane
const PAUSE = `
  update {prefix}lanes
     set paused_at = cast(unixepoch('subsec') * 1000 as integer)
   where lane = ?
     and paused_at is null`

// What waits for something missing does so for its whole time again when the lane goes on.
//
// 1 lane
const STOP_WAITING = `
  update {prefix}queue
     set wait_until = null
   where lane = ?
     and parked = 'waiting'
     and wait_until is not null`

// 1 lane
const RESUME = `
  update {prefix}lanes
     set paused_at = null
   where lane = ?
     and paused_at is not null`

/** `false` when there is no such lane. Inside a write transaction, as all here. */
export function pauseLane(connection: Connection, source: string, key: string): boolean {
  const lanes = listLanes(connection, source, key)
  for (const lane of lanes) {
    connection.run(PAUSE, [lane])
    connection.run(STOP_WAITING, [lane])
  }
  return lanes.length > 0
}

/** `false` when none of them was paused. */
export function resumeLane(connection: Connection, source: string, key: string): boolean {
  const lanes = listLanes(connection, source, key)
  const resumed = lanes.filter((lane) => connection.run(RESUME, [lane]) > 0)
  mendLanes(connection, resumed)
  return resumed.length > 0
}

function listLanes(connection: Connection, source: string, key: string): readonly string[] {
  const values = [source, key.replaceAll('\0', '\ufffd')]
  return connection.all<{ lane: string }>(LIST, values).map(({ lane }) => lane)
}
