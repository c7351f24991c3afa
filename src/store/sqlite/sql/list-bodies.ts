import type { DeliveryHeaders } from '../../../model/delivery.ts'
import type { EventId } from '../../../model/event.ts'
import type { EventBody } from '../../contract/retention.ts'
import { lowestId } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'

// 1 source  2 after event  3 limit
const LIST = `
  select id, body, headers
    from {prefix}events
   where source = ? and id > ? and erased_at is null
   order by id
   limit ?`

/** A page of the events of a source that still have a body. */
export function listBodies(
  connection: Connection,
  page: { readonly source: string; readonly after: EventId | undefined; readonly limit: number },
): readonly EventBody[] {
  const { source, after, limit } = page
  return connection
    .all<{
      id: string
      body: Uint8Array
      headers: string
    }>(LIST, [source, after ?? lowestId, limit])
    .map(({ id, body, headers }) => ({
      eventId: id,
      body,
      headers: JSON.parse(headers) as DeliveryHeaders,
    }))
}
