import type { Topic } from '../../../model/topic.ts'
import type { Connection } from '../connection.ts'

// 1 topics as JSON  2 limit
const WAKE = `
  update {prefix}queue
     set parked = null,
         parked_reason = null,
         run_at = cast(unixepoch('subsec') * 1000 as integer)
   where event_id in
         (select event_id
            from {prefix}queue
           where parked = 'unhandled'
             and topic in (select value from json_each(?))
           limit ?)`

/** Makes the unhandled events of these topics ready; returns how many. Inside a write transaction. */
export function wakeUnhandled(
  connection: Connection,
  topics: readonly Topic[],
  limit: number,
): number {
  return connection.run(WAKE, [JSON.stringify(topics), limit])
}
