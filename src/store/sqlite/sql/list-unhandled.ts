import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

// 1 limit
const LIST = `
  select distinct e.source, cast(e.type as blob) as type
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id
   where q.parked = 'unhandled'
   order by e.source, e.type
   limit ?`

export function listUnhandled(
  connection: Connection,
  limit: number,
): { source: string; type: string }[] {
  return connection
    .all<{ source: string; type: Uint8Array }>(LIST, [limit])
    .map(({ source, type }) => ({ source, type: decodeText(type) }))
}
