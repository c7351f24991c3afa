import type { DeliveryHeaders } from '../../../model/delivery.ts'
import type { EventId } from '../../../model/event.ts'
import type { SearchedBody } from '../../contract/event-search.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import type { Connection } from '../connection.ts'

// 1 event id
//
// The length of a blob is in its row's header: asking for it reads no body.
const SIZE = `
  select length(body) as bytes
    from {prefix}events
   where id = ?`

// 1 event id
const READ = `
  select source, body, headers
    from {prefix}events
   where id = ?`

type BodyRow = { source: string; body: Uint8Array; headers: string }

/** The bodies of the first of these events that fit into so many bytes together; of the first one always. */
export function readBodies(
  connection: Connection,
  ids: readonly EventId[],
  bytesMax: number,
): readonly SearchedBody[] {
  const found: SearchedBody[] = []
  let bytes = 0
  for (const id of ids) {
    bytes += connection.all<{ bytes: number }>(SIZE, [id])[0]?.bytes ?? 0
    if (found.length > 0 && bytes > bytesMax) break
    const [row] = connection.all<BodyRow>(READ, [id])
    if (row === undefined) continue
    const { source, body } = row
    found.push({ id, source, body, headers: readHeaders<DeliveryHeaders>(row.headers) })
  }
  return found
}
