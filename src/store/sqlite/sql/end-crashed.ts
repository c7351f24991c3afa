/**
 * Only SQLite: on PostgreSQL it is part of the statements that sweep.
 *
 * @module
 */

import type { Connection } from '../connection.ts'
import { leaveLane, PLACE_COLUMNS } from './mend-lanes.ts'
import type { LeftLane } from './mend-lanes.ts'

// 1 event id
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?
  returning ${PLACE_COLUMNS}`

// 1 event id  2 run  3 attempts  4 lane  5 place
const INSERT_DEAD = `
  insert into {prefix}outcomes
         (event_id, run, state, attempts, duration_ms, reason, settled_at, lane_id, place)
  values (?, ?, 'dead', ?, 0, 'crashed', cast(unixepoch('subsec') * 1000 as integer), ?, ?)`

/** Makes an event dead that has crashed too often. Inside a write transaction. */
export function endCrashed(
  connection: Connection,
  { eventId, run, attempts }: { eventId: string; run: number; attempts: number },
): void {
  const [gone] = connection.all<LeftLane>(DEQUEUE, [eventId])
  const at = [gone?.lane_id ?? null, gone?.place ?? null]
  connection.run(INSERT_DEAD, [eventId, run, attempts, ...at])
  if (gone !== undefined) leaveLane(connection, { eventId, run, state: 'dead' }, gone)
}
