import type { EventRecord } from '../../../model/outcome.ts'
import { highestId } from '../../../model/id-range.ts'
import type { EventId } from '../../../model/event.ts'
import type { PageBelow } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { SELECT_RECORDS, asEventRecord } from './event-record.ts'

// $1 below this event  $2 limit
const LIST = `${SELECT_RECORDS}
   where e.id in (select event_id
                    from {schema}.outcomes
                   where state = 'dead'
                     and event_id < $1
                   order by event_id desc
                   limit $2)
     and o.state = 'dead'
   order by e.id desc`

/** The events that are dead, newest first. */
export async function listDead(
  connection: Connection,
  { below = highestId, limit }: PageBelow<EventId>,
): Promise<readonly EventRecord[]> {
  const { rows } = await connection.query(LIST, [below, limit])
  return rows.map(asEventRecord)
}
