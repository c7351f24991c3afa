import type { StepPosition, WalkedStep } from '../../contract/event-search.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

// 1 event id  2 run  3 handler  4 position  5 limit
//
// Backwards over the primary key, so that the newest events come first.
const WALK = `
  select s.event_id, s.run, cast(s.handler as blob) as handler, s.position, cast(s.name as blob) as name,
         lower(hex(coalesce(e.key_hash, x''))) as key_hash
    from {prefix}steps s
    left join {prefix}events e on e.id = s.event_id
   where (s.event_id, s.run, s.handler, s.position) < (?, ?, ?, ?)
   order by s.event_id desc, s.run desc, s.handler desc, s.position desc
   limit ?`

export function walkSteps(
  connection: Connection,
  { eventId, run, handler, position }: StepPosition,
  limit: number,
): readonly WalkedStep[] {
  type WalkedRow = {
    event_id: string
    run: number
    handler: Uint8Array
    position: number
    name: Uint8Array
    key_hash: string
  }
  return connection.all<WalkedRow>(WALK, [eventId, run, handler, position, limit]).map((row) => ({
    eventId: row.event_id,
    run: row.run,
    handler: decodeText(row.handler),
    position: row.position,
    name: decodeText(row.name),
    keyHash: row.key_hash,
  }))
}
