/**
 * Pauses and resumes all lanes of a source with one text.
 *
 * A lane that is being made is not seen before it is committed. So it is done while no worker sorts events of the source:
 * a sorter that has begun is waited for, and one that comes after it finds what is paused. A lane that the end of an
 * event makes (`free_lanes`) is set right by the sorter of the first event that comes into it.
 *
 * @module
 */

import type { Ordered } from '../../contract/operators.ts'
import { subjectOfPause } from '../../contract/pauses.ts'
import type { PauseActed, PausedLane } from '../../contract/pauses.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import { findByToken, writeAudit } from './audit.ts'
import { lockLanes, mendLanes } from './mend-lanes.ts'

// $1 lock number
const WAIT_FOR_SORTER = `
  select pg_advisory_xact_lock($1::bigint)`

// $1 source  $2 key
const LIST = `
  select lane_id
    from {schema}.lanes
   where source = $1 and md5(key) = md5($2) and key = $2`

// $1 lanes  $2 reason  $3 actor
//
// All of them or none: one that no event has come into yet may not know that the others are paused.
const PAUSE = `
  update {schema}.lanes
     set paused_at = clock_timestamp(), paused_reason = $2, paused_actor = $3
   where lane_id = any($1::uuid[])
     and not exists (select from {schema}.lanes p where p.lane_id = any($1::uuid[]) and p.paused_at is not null)`

// $1 lanes
//
// What waits for something missing does so for its whole time again when the lane goes on.
const STOP_WAITING = `
  update {schema}.queue
     set wait_until = null
   where lane_id = any($1::uuid[]) and parked = 'waiting' and wait_until is not null`

// $1 lanes
const RESUME = `
  update {schema}.lanes
     set paused_at = null, paused_reason = null, paused_actor = null
   where lane_id = any($1::uuid[]) and paused_at is not null`

/** Inside a transaction of the caller, as all here. */
export async function pauseLane(
  connection: Connection,
  subject: PausedLane,
  order: Ordered,
  sortLock: string,
): Promise<PauseActed> {
  const deed = { action: 'pause', ...subjectOfPause(subject) }
  const findDone = () => findByToken<{ status: 'done' }>(connection, deed, order.token)
  const before = await findDone()
  if (before !== undefined) return before
  const lanes = await lock(connection, subject, sortLock)
  if (lanes.length === 0) return { status: 'refused', code: 'LANE_UNKNOWN' }
  const texts = [order.reason, order.actor].map((text) =>
    text === undefined ? null : withoutNul(text),
  )
  const { rowCount } = await connection.query(PAUSE, [plainArray(lanes), ...texts])
  if (rowCount === 0) return (await findDone()) ?? { status: 'refused', code: 'PAUSED' }
  // It puts back what no worker has in hand.
  await mendLanes(connection, lanes)
  await connection.query(STOP_WAITING, [plainArray(lanes)])
  return writeAudit(connection, deed, order, { status: 'done' })
}

export async function resumeLane(
  connection: Connection,
  subject: PausedLane,
  order: Ordered,
  sortLock: string,
): Promise<PauseActed> {
  const deed = { action: 'resume', ...subjectOfPause(subject) }
  const findDone = () => findByToken<{ status: 'done' }>(connection, deed, order.token)
  const before = await findDone()
  if (before !== undefined) return before
  const lanes = await lock(connection, subject, sortLock)
  const { rowCount } = await connection.query(RESUME, [plainArray(lanes)])
  if (rowCount === 0) return (await findDone()) ?? { status: 'refused', code: 'NOT_PAUSED' }
  await mendLanes(connection, lanes)
  return writeAudit(connection, deed, order, { status: 'done' })
}

async function lock(
  connection: Connection,
  subject: PausedLane,
  sortLock: string,
): Promise<readonly string[]> {
  await connection.query(WAIT_FOR_SORTER, [sortLock])
  const lanes = await listLanes(connection, subject.source, subject.name)
  await lockLanes(connection, lanes)
  return lanes
}

/** The lanes of a source with this text: one of each mode at most. */
export async function listLanes(
  connection: Connection,
  source: string,
  key: string,
): Promise<readonly string[]> {
  const { rows } = await connection.query<'lane_id'>(LIST, [withoutNul(source), withoutNul(key)])
  return rows.map(({ lane_id }) => lane_id ?? '')
}
