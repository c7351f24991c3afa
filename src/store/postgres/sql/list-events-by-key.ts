import type { EventId } from '../../../model/event.ts'
import { lowestId } from '../../../model/id-range.ts'
import type { EventRecord } from '../../../model/outcome.ts'
import type { PageAbove } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { SELECT_RECORDS, asEventRecord } from './event-record.ts'

// $1 source  $2 key  $3 above this event  $4 limit, or null for all
//
// A key may be longer than an index entry, so the index has its hash.
const LIST = `${SELECT_RECORDS}
   where e.source = $1
     and sha256(e.event_key) = sha256($2::bytea)
     and e.id > $3
   order by e.id
   limit $4`

/** The event with this key, and the conflicts and quarantined ones kept beside it, oldest first. */
export async function listEventsByKey(
  connection: Connection,
  {
    source,
    key,
    above = lowestId,
    limit,
  }: { readonly source: string; readonly key: string } & PageAbove<EventId>,
): Promise<readonly EventRecord[]> {
  const { rows } = await connection.query(LIST, [
    withoutNul(source),
    Buffer.from(key),
    above,
    limit ?? null,
  ])
  return rows.map(asEventRecord)
}
