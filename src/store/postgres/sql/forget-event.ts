import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// $1 event
//
// The epoch changes with it, so that no process goes on answering from its memory of the keys.
const FORGET = `
  with gone as (
         delete from {schema}.keys
          where event_id = $1
         returning 1)
  update {schema}.meta
     set value = gen_random_uuid()::text
   where name = 'epoch' and exists (select from gone)`

/** Drops the keys that stand for an event. `false` when there was none. */
export async function forgetEvent(connection: Connection, eventId: EventId): Promise<boolean> {
  const { rowCount } = await connection.query(FORGET, [eventId])
  return rowCount === 1
}
