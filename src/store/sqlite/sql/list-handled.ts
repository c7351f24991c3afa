import type { HandledPattern } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'

const LIST = `
  select handles
    from {prefix}workers
   where slot = 0`

/** What the workers have handlers for, also one whose heart is old: after an outage all hearts are. */
export function listHandled(connection: Connection): readonly HandledPattern[] {
  return connection
    .all<{ handles: string }>(LIST)
    .flatMap(({ handles }) => JSON.parse(handles) as HandledPattern[])
}
