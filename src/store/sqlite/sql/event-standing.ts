/**
 * Reads where an event stands. The caller has SQLite's write lock, which is all the locks there are: nothing comes
 * between this and the change.
 *
 * @module
 */

import type { EventState } from '../../../model/event-state.ts'
import type { EventId } from '../../../model/event.ts'
import { findVersions } from '../../shared/decide-action.ts'
import type { Standing } from '../../shared/decide-action.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const FIND_EVENT = `
  select erased_at, topic < 0 as is_own
    from {prefix}events
   where id = ?`

// 1 event id
const FIND_QUEUED = `
  select q.run, q.parked, q.parked_reason, q.run_at <= cast(unixepoch('subsec') * 1000 as integer) as is_due,
         q.lease_token is not null or
         exists (select 1
                   from {prefix}workers w, json_each(w.running) r
                  where r.value ->> 'eventId' = q.event_id
                    and r.value ->> 'attempt' = q.attempts + 1) as is_running
    from {prefix}queue q
   where q.event_id = ?
   order by q.run desc
   limit 1`

// 1 event id
const LIST_OUTCOMES = `
  select o.run, o.state, o.place, l.applied, l.applied_by
    from {prefix}outcomes o
    left join {prefix}lanes l on l.lane_id = o.lane_id and l.mode = 'latest'
   where o.event_id = ?
   order by o.run desc`

export function readStanding(connection: Connection, eventId: EventId): Standing | undefined {
  const [event] = connection.all<{ erased_at: number | null; is_own: number }>(FIND_EVENT, [
    eventId,
  ])
  // What is not there but has ended was pruned.
  const isPruned = event === undefined
  const [queued] = connection.all<QueuedRow>(FIND_QUEUED, [eventId])
  const outcomes = connection.all<OutcomeRow>(LIST_OUTCOMES, [eventId])
  const isApplied = outcomes.some(({ state }) => state === 'done')
  const erasedAt = event?.erased_at == null ? undefined : new Date(event.erased_at)
  const isOwn = event?.is_own === 1
  if (queued !== undefined) {
    return {
      state: queued.parked ?? (queued.is_running === 1 ? 'running' : 'ready'),
      run: queued.run,
      parkedReason: queued.parked_reason ?? undefined,
      isDue: queued.is_due === 1,
      isApplied,
      erasedAt,
      isPruned,
      versions: undefined,
      isOwn,
    }
  }
  const [latest] = outcomes
  return (
    latest && {
      state: latest.state,
      run: latest.run,
      parkedReason: undefined,
      isDue: false,
      isApplied,
      erasedAt,
      isPruned,
      versions: findVersions(outcomes),
      isOwn,
    }
  )
}

type OutcomeRow = {
  run: number
  state: EventState
  place: string | null
  applied: string | null
  applied_by: string | null
}

type QueuedRow = {
  run: number
  parked: EventState | null
  parked_reason: string | null
  is_due: number
  is_running: number
}
