/**
 * Only SQLite: on PostgreSQL it is part of the statements that sweep.
 *
 * @module
 */

import type { Connection } from '../connection.ts'

// 1 event id
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?`

// 1 event id  2 run  3 attempts
const INSERT_DEAD = `
  insert into {prefix}outcomes
         (event_id, run, state, attempts, duration_ms, reason, settled_at)
  values (?, ?, 'dead', ?, 0, 'crashed', cast(unixepoch('subsec') * 1000 as integer))`

/** Makes an event dead that has crashed too often. Inside a write transaction. */
export function endCrashed(
  connection: Connection,
  { eventId, run, attempts }: { eventId: string; run: number; attempts: number },
): void {
  connection.run(DEQUEUE, [eventId])
  connection.run(INSERT_DEAD, [eventId, run, attempts])
}
