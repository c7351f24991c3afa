import type { Connection } from '../connection.ts'
import { mendLanes } from './mend-lanes.ts'

// 1 limit
const LIST = `
  select distinct b.lane_id
    from {prefix}lane_blocks b
   where not exists (select 1 from {prefix}outcomes o
                      where o.event_id = b.event_id and o.run = b.run and o.state = 'dead')
     and not exists (select 1 from {prefix}queue u
                      where u.event_id = b.event_id and u.run = b.run and u.lane_id is null)
   limit ?`

/** The lanes whose dead event is dead no longer. */
export function listUnblocked(connection: Connection, limit: number): readonly string[] {
  return connection.all<{ lane_id: string }>(LIST, [limit]).map(({ lane_id }) => lane_id)
}

/** Lets them go on; says how many. Inside a write transaction. */
export function mendBlocked(connection: Connection, limit: number): number {
  const lanes = listUnblocked(connection, limit)
  mendLanes(connection, lanes)
  return lanes.length
}
