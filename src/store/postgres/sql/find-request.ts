import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// $1 event
const FIND = `
  select encode(case when e.request_id is null then e.body else r.body end, 'hex') as body
    from {schema}.events e
    left join {schema}.requests r on r.id = e.request_id
   where e.id = $1`

export async function findRequest(
  connection: Connection,
  eventId: EventId,
): Promise<Uint8Array | undefined> {
  const { rows } = await connection.query<'body'>(FIND, [eventId])
  const body = rows[0]?.body
  return body == null ? undefined : Buffer.from(body, 'hex')
}
