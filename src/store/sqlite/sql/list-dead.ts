import type { EventId } from '../../../model/event.ts'
import { highestId } from '../../../model/id-range.ts'
import type { EventRecord } from '../../../model/outcome.ts'
import type { PageBelow } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { findEvent } from './find-event.ts'

// 1 below this event  2 limit
const LIST = `
  select event_id
    from {prefix}outcomes
   where state = 'dead'
     and event_id < ?
   order by event_id desc
   limit ?`

/** Newest first. */
export function listDead(
  connection: Connection,
  { below = highestId, limit }: PageBelow<EventId>,
): EventRecord[] {
  return connection
    .all<{ event_id: string }>(LIST, [below, limit])
    .flatMap(({ event_id }) => findEvent(connection, event_id) ?? [])
}
