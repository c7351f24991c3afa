import type { Connection } from '../connection.ts'
import { byteaArray } from '../binary-array.ts'
import { wakeKey } from '../wake-key.ts'

// $1 wake keys  $2 limit
const WAKE = `
  with sleeping as materialized (
         select event_id, run
           from {schema}.queue
          where parked = 'unhandled' and wake_key = any($1::bytea[])
          order by event_id
          limit $2
            for update skip locked)
  update {schema}.queue q
     set parked = null, reason = null, wake_key = null, run_at = clock_timestamp()
    from sleeping
   where q.event_id = sleeping.event_id and q.run = sleeping.run`

/** Makes the unhandled events of these pairs ready; returns how many. */
export async function wakeUnhandled(
  connection: Connection,
  pairs: readonly { source: string; type: string }[],
  limit: number,
): Promise<number> {
  const { rowCount } = await connection.query(WAKE, [byteaArray(pairs.map(wakeKey)), limit])
  return rowCount ?? 0
}
