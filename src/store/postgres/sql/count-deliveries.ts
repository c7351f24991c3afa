import type { DeliveryCount } from '../../contract/events.ts'
import type { Connection } from '../connection.ts'
import { plainArray } from '../binary-array.ts'

// $1 events  $2 outcomes  $3 counts
//
// Sorted, so that two processes that count the same events wait instead of dead-locking. Best
// effort, so that its COMMIT need not wait for the disk.
const COUNT = `
  insert into {schema}.deliveries (event_id, minute, outcome, count)
  select event_id, date_trunc('minute', statement_timestamp()), outcome, sum(count)
    from unnest($1::uuid[], $2::text[], $3::bigint[]) as counted (event_id, outcome, count)
   where set_config('synchronous_commit', 'off', true) is not null
   group by event_id, outcome
   order by event_id, outcome
      on conflict (event_id, minute, outcome) do update
     set count = deliveries.count + excluded.count`

/** Adds to the delivery counts of the running minute. */
export async function countDeliveries(
  connection: Connection,
  counts: readonly DeliveryCount[],
): Promise<void> {
  await connection.query(COUNT, [
    plainArray(counts.map(({ eventId }) => eventId)),
    plainArray(counts.map(({ outcome }) => outcome)),
    plainArray(counts.map(({ count }) => count)),
  ])
}
