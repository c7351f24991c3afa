import type { Connection } from '../connection.ts'
import { withoutNul } from '../binary-array.ts'
import { lockLanes, mendLanes } from './mend-lanes.ts'

// $1 source  $2 key
const LIST = `
  select lane
    from {schema}.lanes
   where source = $1 and md5(key) = md5($2) and key = $2`

// $1 lanes
const PAUSE = `
  update {schema}.lanes
     set paused_at = clock_timestamp()
   where lane = any($1::uuid[]) and paused_at is null`

// $1 lanes
//
// What waits for something missing does so for its whole time again when the lane goes on.
const STOP_WAITING = `
  update {schema}.queue
     set wait_until = null
   where lane = any($1::uuid[]) and parked = 'waiting' and wait_until is not null`

// $1 lanes
const RESUME = `
  update {schema}.lanes
     set paused_at = null
   where lane = any($1::uuid[]) and paused_at is not null`

/** `false` when there is no such lane. Inside a transaction of the caller, as all here. */
export async function pauseLane(
  connection: Connection,
  source: string,
  key: string,
): Promise<boolean> {
  const lanes = await lock(connection, source, key)
  if (lanes.length === 0) return false
  await connection.query(PAUSE, [`{${lanes.join(',')}}`])
  await connection.query(STOP_WAITING, [`{${lanes.join(',')}}`])
  return true
}

/** `false` when none of them was paused. */
export async function resumeLane(
  connection: Connection,
  source: string,
  key: string,
): Promise<boolean> {
  const lanes = await lock(connection, source, key)
  if (lanes.length === 0) return false
  const { rowCount } = await connection.query(RESUME, [`{${lanes.join(',')}}`])
  await mendLanes(connection, lanes)
  return rowCount !== null && rowCount > 0
}

async function lock(
  connection: Connection,
  source: string,
  key: string,
): Promise<readonly string[]> {
  const { rows } = await connection.query<'lane'>(LIST, [source, withoutNul(key)])
  const lanes = rows.map(({ lane }) => lane ?? '')
  await lockLanes(connection, lanes)
  return lanes
}
