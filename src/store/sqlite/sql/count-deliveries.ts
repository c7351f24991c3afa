import type { DeliveryCount } from '../../contract/store.ts'
import type { LoopBreaks } from '../../../flow/loop-breaks.ts'
import type { Connection } from '../connection.ts'

// 1 event id  2 outcome  3 count
const ADD = `
  insert into {prefix}deliveries (event_id, minute, outcome, count)
  values (?, unixepoch() / 60 * 60000, ?, ?)
      on conflict (event_id, minute, outcome) do update
     set count = count + excluded.count`

export async function countDeliveries(
  connection: Connection,
  breaks: LoopBreaks,
  counts: readonly DeliveryCount[],
): Promise<void> {
  await breaks.each(counts, ({ eventId, outcome, count }) =>
    connection.run(ADD, [eventId, outcome, count]),
  )
}
