import type { DeliveryHeaders } from '../../../model/delivery.ts'
import type { EventId } from '../../../model/event.ts'
import type { SearchedBody } from '../../contract/event-search.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 events  $2 bytes
//
// How large a body is stands beside it, and is added up before any of them is read.
const READ = `
  with wanted as materialized (
         select id, ord, sum(octet_length(e.body)) over (order by ord) as so_far
           from unnest($1::uuid[]) with ordinality as asked (id, ord)
           join {schema}.events e using (id))
  select e.id, e.source, encode(e.body, 'hex') as body, e.headers
    from wanted
    join {schema}.events e using (id)
   where wanted.so_far <= $2 or wanted.ord = (select min(ord) from wanted)
   order by wanted.ord`

/** The bodies of the first of these events that fit into so many bytes together; of the first one always. */
export async function readBodies(
  connection: Connection,
  ids: readonly EventId[],
  bytesMax: number,
): Promise<readonly SearchedBody[]> {
  const { rows } = await connection.query<'id' | 'source' | 'body' | 'headers'>(READ, [
    plainArray(ids),
    bytesMax,
  ])
  return rows.map(({ id, source, body, headers }) => ({
    id: id ?? '',
    source: source ?? '',
    body: Buffer.from(body ?? '', 'hex'),
    headers: readHeaders<DeliveryHeaders>(headers),
  }))
}
