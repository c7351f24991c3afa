import type { Topic } from '../../../model/topic.ts'
import type { Connection } from '../connection.ts'
import { plainArray } from '../binary-array.ts'

// $1 topics  $2 limit
const WAKE = `
  with sleeping as materialized (
         select event_id, run
           from {schema}.queue
          where parked = 'unhandled' and topic = any($1::bigint[])
          order by event_id
          limit $2
            for update skip locked)
  update {schema}.queue q
     set parked = null, parked_reason = null, run_at = clock_timestamp()
    from sleeping
   where q.event_id = sleeping.event_id and q.run = sleeping.run`

/** Makes the unhandled events of these topics ready; returns how many. */
export async function wakeUnhandled(
  connection: Connection,
  topics: readonly Topic[],
  limit: number,
): Promise<number> {
  const { rowCount } = await connection.query(WAKE, [plainArray(topics), limit])
  return rowCount ?? 0
}
