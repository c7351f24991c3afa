import type { DueKind, ParkedEvent } from '../../contract/queue.ts'
import type { Topic } from '../../../model/topic.ts'
import type { Connection } from '../connection.ts'
import { plainArray } from '../binary-array.ts'
import { DUE } from './claim-group.ts'

// $1 topics  $2 limit
const park = (due: string): string => `
  with due as materialized (
         select q.event_id, q.run
           from {schema}.queue q
          where ${due}
            and q.topic = any($1::bigint[])
          limit $2
            for update skip locked),
       parked as (
         update {schema}.queue q
            set parked = 'unhandled', parked_reason = 'no handler for its type'
           from due
          where q.event_id = due.event_id and q.run = due.run
         returning q.event_id, q.attempts)
  select parked.event_id, parked.attempts, e.source, encode(e.event_key, 'hex') as event_key, e.type
    from parked
   cross join lateral (select * from {schema}.events where id = parked.event_id limit 1) e`

const PARK: Readonly<Record<DueKind, string>> = {
  fresh: park(DUE.fresh),
  head: park(DUE.head),
  again: park(DUE.again),
  suspect: park(DUE.suspect),
  leasable: park(DUE.leasable),
}

/** Parks events of these topics, at most `limit` of them, and says which. Inside a transaction of the caller. */
export async function parkUnhandled(
  connection: Connection,
  { kind, topics, limit }: { kind: DueKind; topics: readonly Topic[]; limit: number },
): Promise<readonly ParkedEvent[]> {
  const { rows } = await connection.query(PARK[kind], [plainArray(topics), limit])
  return rows.map((row) => ({
    eventId: row['event_id'] ?? '',
    source: row['source'] ?? '',
    key: Buffer.from(row['event_key'] ?? '', 'hex').toString(),
    type: row['type'] ?? '',
    attempt: Number(row['attempts']) + 1,
  }))
}
