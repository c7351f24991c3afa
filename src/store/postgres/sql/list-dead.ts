import type { EventRecord } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { SELECT_RECORDS, asEventRecord } from './event-record.ts'

// $1 limit
const LIST = `${SELECT_RECORDS}
   where e.id in (select event_id
                    from {schema}.outcomes
                   where state = 'dead'
                   order by settled_at desc
                   limit $1)
     and o.state = 'dead'
   order by o.settled_at desc`

/** The events that are dead, latest first. */
export async function listDead(
  connection: Connection,
  limit: number,
): Promise<readonly EventRecord[]> {
  const { rows } = await connection.query(LIST, [limit])
  return rows.map(asEventRecord)
}
