import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { mendLanes } from './mend-lanes.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 event id  2 run
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?
     and run = ?
  returning attempts, lane_id, place`

// 1 event id  2 run  3 attempts  4 reason  5 lane  6 place
const INSERT_OUTCOME = `
  insert into {prefix}outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at, lane_id, place)
  values (?, ?, 'discarded', ?, 0, ?, ${NOW}, ?, ?)`

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
  const [queued] = connection.all<QueuedRow>(DEQUEUE, [eventId, run])
  const at = [queued?.lane_id ?? null, queued?.place ?? null]
  connection.run(INSERT_OUTCOME, [eventId, run, queued?.attempts ?? 0, why, ...at])
  // Its lane goes on without it.
  if (queued?.lane_id != null) mendLanes(connection, [queued.lane_id])
}

type QueuedRow = { attempts: number; lane_id: string | null; place: string | null }
