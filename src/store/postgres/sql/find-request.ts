import type { EventId } from '../../../model/event.ts'
import type { StoredRequest } from '../../shared/encryption/sealed-operators.ts'
import type { Connection } from '../connection.ts'

// $1 event
const FIND = `
  select encode(case when e.request_id is null then e.body else r.body end, 'hex') as body, e.source, e.request_id
    from {schema}.events e
    left join {schema}.requests r on r.id = e.request_id
   where e.id = $1`

export async function findRequest(
  connection: Connection,
  eventId: EventId,
): Promise<StoredRequest | undefined> {
  const { rows } = await connection.query<'body' | 'source' | 'request_id'>(FIND, [eventId])
  const [row] = rows
  if (row?.body == null) return undefined
  const { body, source, request_id: requestId } = row
  return {
    body: Buffer.from(body, 'hex'),
    source: source ?? '',
    requestId: requestId ?? undefined,
  }
}
