import type { EventRecord } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { findEvent } from './find-event.ts'

// 1 limit
const LIST = `
  select event_id
    from {prefix}outcomes
   where state = 'dead'
   order by settled_at desc, event_id desc
   limit ?`

/** Latest first. */
export function listDead(connection: Connection, limit: number): EventRecord[] {
  return connection
    .all<{ event_id: string }>(LIST, [limit])
    .flatMap(({ event_id }) => findEvent(connection, event_id) ?? [])
}
