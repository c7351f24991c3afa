import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const FIND = `
  select case when e.request_id is null then e.body else r.body end as body
    from {prefix}events e
    left join {prefix}requests r on r.id = e.request_id
   where e.id = ?`

export function findRequest(connection: Connection, eventId: EventId): Uint8Array | undefined {
  const [row] = connection.all<{ body: Uint8Array | null }>(FIND, [eventId])
  return row?.body ?? undefined
}
