import type { EventId } from '../../../model/event.ts'
import { lowestId } from '../../../model/id-range.ts'
import type { EventRecord } from '../../../model/outcome.ts'
import type { PageAbove } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { findEvent } from './find-event.ts'

// 1 source  2 event key  3 above this event  4 limit, or -1 for all
const LIST = `
  select id
    from {prefix}events
   where source = ?
     and event_key = ?
     and id > ?
   order by id
   limit ?`

/** Oldest first: ids sort by the time they were made. */
export function listEventsByKey(
  connection: Connection,
  {
    source,
    key,
    above = lowestId,
    limit = -1,
  }: { readonly source: string; readonly key: string } & PageAbove<EventId>,
): EventRecord[] {
  return connection
    .all<{ id: string }>(LIST, [source, Buffer.from(key), above, limit])
    .flatMap(({ id }) => findEvent(connection, id) ?? [])
}
