/**
 * Reads where an event stands. The caller has SQLite's write lock, which is all the locks there are: nothing comes
 * between this and the change.
 *
 * @module
 */

import type { EventState } from '../../../model/event-state.ts'
import type { EventId } from '../../../model/event.ts'
import type { Standing } from '../../shared/decide-action.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const FIND_EVENT = `
  select erased_at is not null as is_erased, topic < 0 as is_own
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
  select run, state
    from {prefix}outcomes
   where event_id = ?
   order by run desc`

/** Whether an event that is not here came to rest before its payload was pruned. */
export function wasPruned(connection: Connection, eventId: EventId): boolean {
  return connection.all(LIST_OUTCOMES, [eventId]).length > 0
}

export function readStanding(connection: Connection, eventId: EventId): Standing | undefined {
  const [event] = connection.all<{ is_erased: number; is_own: number }>(FIND_EVENT, [eventId])
  if (event === undefined) return undefined
  const [queued] = connection.all<QueuedRow>(FIND_QUEUED, [eventId])
  const outcomes = connection.all<{ run: number; state: EventState }>(LIST_OUTCOMES, [eventId])
  const isApplied = outcomes.some(({ state }) => state === 'done')
  const isErased = event.is_erased === 1
  const isOwn = event.is_own === 1
  if (queued !== undefined) {
    return {
      state: queued.parked ?? (queued.is_running === 1 ? 'running' : 'ready'),
      run: queued.run,
      parkedReason: queued.parked_reason ?? undefined,
      isDue: queued.is_due === 1,
      isApplied,
      isErased,
      isOwn,
    }
  }
  const [latest] = outcomes
  return latest && { ...latest, parkedReason: undefined, isDue: false, isApplied, isErased, isOwn }
}

type QueuedRow = {
  run: number
  parked: EventState | null
  parked_reason: string | null
  is_due: number
  is_running: number
}
