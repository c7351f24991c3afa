import type { EventId } from '../../../model/event.ts'
import type { EventState } from '../../../model/event-state.ts'
import type { Blocker } from '../../../model/outcome.ts'
import type { OrderMode } from '../../../ordering/order.ts'
import { describeBlocker } from '../../shared/describe-blocker.ts'
import type { Connection } from '../connection.ts'

// $1 event
const FIND = `
  select l.mode, l.paused_at is not null as is_paused, q.place, l.next,
         (extract(epoch from q.wait_until) * 1000)::bigint as wait_until,
         holder.event_id, holder.state, (extract(epoch from holder.run_at) * 1000)::bigint as run_at
    from {schema}.queue q
    join {schema}.lanes l on l.lane_id = q.lane_id
    left join lateral (
         (select a.event_id, case when a.run_at > clock_timestamp() then a.run_at end as run_at,
                 case when a.parked is not null then a.parked
                      when a.lease_token is not null or exists (
                           select
                             from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                            where r.event_id = a.event_id and r.attempt = a.attempts + 1) then 'running'
                      else 'ready' end as state
            from {schema}.queue a
           where a.lane_id = l.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting'
           limit 1)
          union all
         (select b.event_id, null, 'dead'
            from {schema}.lane_blocks b
           where b.lane_id = l.lane_id and l.mode = 'fifo' and (b.event_id, b.run) < (q.event_id, q.run)
           order by b.event_id
           limit 1)
          limit 1) holder on true
   where q.event_id = $1 and q.parked = 'waiting'`

/** What an event waits for; `undefined` when it does not wait. */
export async function findBlocker(
  connection: Connection,
  eventId: EventId,
): Promise<Blocker | undefined> {
  const { rows } = await connection.query<Column>(FIND, [eventId])
  const [row] = rows
  if (row === undefined) return undefined
  return describeBlocker({
    mode: row.mode as OrderMode,
    isPaused: row.is_paused === 't',
    requires: row.place ?? undefined,
    next: row.next == null ? undefined : Number(row.next),
    waitUntil: dateOf(row.wait_until),
    holder:
      row.event_id == null
        ? undefined
        : { eventId: row.event_id, state: row.state as EventState, runAt: dateOf(row.run_at) },
  })
}

function dateOf(ms: string | null | undefined): Date | undefined {
  return ms == null ? undefined : new Date(Number(ms))
}

type Column =
  'mode' | 'is_paused' | 'place' | 'next' | 'wait_until' | 'event_id' | 'state' | 'run_at'
