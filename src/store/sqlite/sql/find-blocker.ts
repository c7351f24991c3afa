import type { EventId } from '../../../model/event.ts'
import type { EventState } from '../../../model/event-state.ts'
import type { Blocker } from '../../../model/outcome.ts'
import type { OrderMode } from '../../../ordering/order.ts'
import { describeBlocker } from '../../shared/describe-blocker.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const FIND = `
  select l.lane_id, l.mode, l.paused_at, q.run, q.place, l.next, q.wait_until
    from {prefix}queue q
    join {prefix}lanes l on l.lane_id = q.lane_id
   where q.event_id = ?
     and q.parked = 'waiting'`

// 1 lane
const FIND_ACTIVE = `
  select a.event_id, case when a.run_at > cast(unixepoch('subsec') * 1000 as integer) then a.run_at end as run_at,
         case when a.parked is not null then a.parked
              when a.lease_token is not null or exists (
                   select 1
                     from {prefix}workers w, json_each(w.running) r
                    where r.value ->> 'eventId' = a.event_id
                      and r.value ->> 'attempt' = a.attempts + 1) then 'running'
              else 'ready' end as state
    from {prefix}queue a
   where a.lane_id = ?
     and a.lane_id is not null
     and a.parked is not 'waiting'
   limit 1`

// 1 lane  2 event id  3 run
const FIND_BLOCK = `
  select event_id, null as run_at, 'dead' as state
    from {prefix}lane_blocks
   where lane_id = ?
     and (event_id, run) < (?, ?)
   order by event_id
   limit 1`

/** What an event waits for; `undefined` when it does not wait. */
export function findBlocker(connection: Connection, eventId: EventId): Blocker | undefined {
  const [row] = connection.all<WaitingRow>(FIND, [eventId])
  if (row === undefined) return undefined
  const [holder] = [
    ...connection.all<HolderRow>(FIND_ACTIVE, [row.lane_id]),
    ...(row.mode === 'fifo'
      ? connection.all<HolderRow>(FIND_BLOCK, [row.lane_id, eventId, row.run])
      : []),
  ]
  return describeBlocker({
    mode: row.mode as OrderMode,
    isPaused: row.paused_at !== null,
    requires: row.place ?? undefined,
    next: row.next ?? undefined,
    waitUntil: dateOf(row.wait_until),
    holder: holder && {
      eventId: holder.event_id,
      state: holder.state as EventState,
      runAt: dateOf(holder.run_at),
    },
  })
}

function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms)
}

type WaitingRow = {
  lane_id: string
  mode: string
  paused_at: number | null
  run: number
  place: string | null
  next: number | null
  wait_until: number | null
}
type HolderRow = { event_id: string; run_at: number | null; state: string }
