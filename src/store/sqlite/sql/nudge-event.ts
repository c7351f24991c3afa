import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const IS_WAITING = `
  select 1 as found
    from {prefix}queue
   where event_id = ?
     and parked is null
     and lease_token is null
     and run_at > cast(unixepoch('subsec') * 1000 as integer)`

// 1 event id
const MAKE_DUE = `
  update {prefix}queue
     set run_at = cast(unixepoch('subsec') * 1000 as integer)
   where event_id = ?
     and parked is null
     and lease_token is null
     and run_at > cast(unixepoch('subsec') * 1000 as integer)`

export function nudgeEvent(connection: Connection, eventId: EventId): void {
  connection.run(MAKE_DUE, [eventId])
}

/** Whether a nudge would change anything, asked without the write lock. */
export function isWaiting(connection: Connection, eventId: EventId): boolean {
  return connection.all(IS_WAITING, [eventId]).length > 0
}
