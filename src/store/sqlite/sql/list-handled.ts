import type { HandledPattern } from '../../contract.ts'
import type { Connection } from '../connection.ts'

// 1 dead after ms
const LIST = `
  select handles
    from {prefix}workers
   where slot = 0
     and heart_at > cast(unixepoch('subsec') * 1000 as integer) - ?`

/** What the workers whose hearts beat have handlers for. */
export function listHandled(
  connection: Connection,
  deadAfterMs: number,
): readonly HandledPattern[] {
  return connection
    .all<{ handles: string }>(LIST, [deadAfterMs])
    .flatMap(({ handles }) => JSON.parse(handles) as HandledPattern[])
}
