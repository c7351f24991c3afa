import type { EventRecord } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { withoutNul } from '../binary-array.ts'
import { SELECT_RECORDS, asEventRecord } from './event-record.ts'

// $1 source  $2 key
//
// A key may be longer than an index entry, so the index has its hash.
const LIST = `${SELECT_RECORDS}
   where e.source = $1
     and sha256(e.event_key) = sha256($2::bytea)
   order by e.id`

/** The event with this key, and the conflicts and quarantined ones kept beside it, oldest first. */
export async function listEventsByKey(
  connection: Connection,
  source: string,
  key: string,
): Promise<readonly EventRecord[]> {
  const { rows } = await connection.query(LIST, [withoutNul(source), Buffer.from(key)])
  return rows.map(asEventRecord)
}
