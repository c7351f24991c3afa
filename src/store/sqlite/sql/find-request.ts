import type { EventId } from '../../../model/event.ts'
import type { StoredRequest } from '../../shared/encryption/sealed-operators.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const FIND = `
  select case when e.request_id is null then e.body else r.body end as body, e.source, e.request_id
    from {prefix}events e
    left join {prefix}requests r on r.id = e.request_id
   where e.id = ?`

export function findRequest(connection: Connection, eventId: EventId): StoredRequest | undefined {
  type RequestRow = { body: Uint8Array | null; source: string; request_id: string | null }
  const [row] = connection.all<RequestRow>(FIND, [eventId])
  if (row?.body == null) return undefined
  const { body, source, request_id: requestId } = row
  return { body, source, requestId: requestId ?? undefined }
}
