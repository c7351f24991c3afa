import type { UnhandledPage } from '../../contract.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

// 1 source and 2 type of the last pair of the page before  3 limit
const LIST = `
  select distinct e.source, cast(e.type as blob) as type
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id
   where q.parked = 'unhandled'
     and (e.source, e.type) > (?, ?)
   order by e.source, e.type
   limit ?`

/** Sorts before every pair, since a source has a name. */
const BEFORE_ALL = ['', '']

export function listUnhandled(
  connection: Connection,
  { limit, after }: { limit: number; after: string | undefined },
): UnhandledPage {
  const [source, type] = after === undefined ? BEFORE_ALL : (JSON.parse(after) as string[])
  const pairs = connection
    .all<{ source: string; type: Uint8Array }>(LIST, [source, type, limit])
    .map((row) => ({ source: row.source, type: decodeText(row.type) }))
  const last = pairs.at(-1)
  const isFull = pairs.length === limit && last !== undefined
  return { pairs, next: isFull ? JSON.stringify([last.source, last.type]) : undefined }
}
