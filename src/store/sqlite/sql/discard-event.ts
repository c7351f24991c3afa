import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'
import { withoutNul } from './audit.ts'
import { mendLanes } from './mend-lanes.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 event id  2 run
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?
     and run = ?
  returning attempts, lane`

// 1 event id  2 run  3 attempts  4 reason
const INSERT_OUTCOME = `
  insert into {prefix}outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at)
  values (?, ?, 'discarded', ?, 0, ?, ${NOW})`

// 1 reason  2 event id  3 run
const SETTLE_DEAD = `
  update {prefix}outcomes
     set state = 'discarded',
         reason = ?,
         settled_at = ${NOW}
   where event_id = ?
     and run = ?`

/** Settles an event that is queued or dead as discarded; its failures stay on record. Inside a write transaction. */
export function discardEvent(
  connection: Connection,
  eventId: EventId,
  { state, run }: { readonly state: string; readonly run: number },
  reason: string | undefined,
): void {
  const why = reason === undefined ? null : withoutNul(reason)
  if (state === 'dead') {
    connection.run(SETTLE_DEAD, [why, eventId, run])
    return
  }
  const [queued] = connection.all<{ attempts: number; lane: string | null }>(DEQUEUE, [
    eventId,
    run,
  ])
  connection.run(INSERT_OUTCOME, [eventId, run, queued?.attempts ?? 0, why])
  // Its lane goes on without it.
  if (queued?.lane != null) mendLanes(connection, [queued.lane])
}
