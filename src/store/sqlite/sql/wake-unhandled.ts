import type { Connection } from '../connection.ts'

// 1 source  2 type  3 limit
const WAKE = `
  update {prefix}queue
     set parked = null,
         parked_reason = null,
         run_at = cast(unixepoch('subsec') * 1000 as integer)
   where event_id in
         (select q.event_id
            from {prefix}queue q
            join {prefix}events e on e.id = q.event_id
           where q.parked = 'unhandled'
             and e.source = ?
             and e.type = ?
           limit ?)`

/** Returns how many were woken, at most `limit`. */
export function wakeUnhandled(
  connection: Connection,
  { pairs, limit }: { pairs: readonly { source: string; type: string }[]; limit: number },
): number {
  let woken = 0
  for (const { source, type } of pairs) woken += connection.run(WAKE, [source, type, limit - woken])
  return woken
}
