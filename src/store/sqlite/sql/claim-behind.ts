/**
 * Finds what is next behind claimed heads of fifo lanes. What that means is said in the file of the same name for
 * PostgreSQL.
 *
 * @module
 */

import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { WorkerSlot } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'
import { asClaimedEvent, CLAIMED_COLUMNS, REPLAY } from './claim-group.ts'
import type { ClaimedRow } from './claim-group.ts'

// 1 lane  2 worker id  3 slot  4 limit
const LIST = `
  select ${CLAIMED_COLUMNS},
         q.attempts = 0 and q.crashes = 0 and q.leasable = 0
         and not exists (select 1 from {prefix}lane_blocks b
                          where b.lane_id = q.lane_id and (b.event_id, b.run) < (q.event_id, q.run))
         and (q.event_id, q.attempts + 1) not in
             (select j.value ->> 'eventId', j.value ->> 'attempt'
                from {prefix}workers w, json_each(w.running) j
               where not (w.worker_id = ?2 and w.slot = ?3)) as is_next
    from {prefix}queue q
    join {prefix}lanes l on l.lane_id = q.lane_id
    join {prefix}events e on e.id = q.event_id${REPLAY}
   where q.lane_id = ?1
     and q.parked = 'waiting'
     and l.paused_at is null
   order by q.event_id
   limit ?4`

/** In the order in which they may run. Each lane has the same share of the room. */
export function listBehind(
  connection: Connection,
  { workerId, slot }: WorkerSlot,
  heads: readonly ClaimedEvent[],
  room: number,
): readonly ClaimedEvent[] {
  const inLanes = heads.filter(({ lane }) => lane?.mode === 'fifo')
  if (inLanes.length === 0) return []
  const share = Math.ceil(room / inLanes.length)
  const lines = inLanes.map(({ topic, lane }) => {
    if (lane === undefined) return []
    const rows = connection.all<BehindRow>(LIST, [lane.id, workerId, slot, share])
    const end = rows.findIndex((row) => row.is_next === 0 || row.topic !== topic)
    return (end === -1 ? rows : rows.slice(0, end)).map((row) => ({
      ...asClaimedEvent(row),
      lane: { ...lane, isBehind: true },
    }))
  })
  // The first of each lane, then the second of each.
  const turns = Array.from({ length: share }, (_, nth) => lines.flatMap((line) => line[nth] ?? []))
  return turns.flat().slice(0, room)
}

type BehindRow = ClaimedRow & { is_next: number }
