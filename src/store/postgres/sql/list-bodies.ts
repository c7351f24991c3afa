import type { DeliveryHeaders } from '../../../model/delivery.ts'
import type { EventId } from '../../../model/event.ts'
import type { EventBody } from '../../contract/retention.ts'
import { lowestId } from '../../../model/id-range.ts'
import { withoutNul } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 source  $2 after event  $3 limit
const LIST = `
  select id, encode(body, 'hex') as body, headers
    from {schema}.events
   where source = $1 and id > $2 and erased_at is null
   order by id
   limit $3`

/** A page of the events of a source that still have a body. */
export async function listBodies(
  connection: Connection,
  page: { readonly source: string; readonly after: EventId | undefined; readonly limit: number },
): Promise<readonly EventBody[]> {
  const { source, after, limit } = page
  const { rows } = await connection.query<'id' | 'body' | 'headers'>(LIST, [
    withoutNul(source),
    after ?? lowestId,
    limit,
  ])
  return rows.map(({ id, body, headers }) => ({
    eventId: id ?? '',
    body: Buffer.from(body ?? '', 'hex'),
    headers: JSON.parse(headers ?? '{}') as DeliveryHeaders,
  }))
}
