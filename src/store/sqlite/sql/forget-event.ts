import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const DELETE_KEYS = `
  delete from {prefix}keys
   where event_id = ?`

const BUMP_EPOCH = `
  update {prefix}meta
     set value = lower(hex(randomblob(16)))
   where name = 'epoch'`

/** Drops every key that leads to the event, and tells every process to forget what it remembers. */
export function forgetEvent(connection: Connection, eventId: EventId): boolean {
  if (connection.run(DELETE_KEYS, [eventId]) === 0) return false
  connection.run(BUMP_EPOCH)
  return true
}
