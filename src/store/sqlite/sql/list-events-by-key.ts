import type { EventRecord } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { findEvent } from './find-event.ts'

// 1 source  2 event key
const LIST = `
  select id
    from {prefix}events
   where source = ?
     and event_key = ?
   order by id`

/** Oldest first: ids sort by the time they were made. */
export function listEventsByKey(
  connection: Connection,
  { source, key }: { source: string; key: string },
): EventRecord[] {
  return connection
    .all<{ id: string }>(LIST, [source, Buffer.from(key)])
    .flatMap(({ id }) => findEvent(connection, id) ?? [])
}
