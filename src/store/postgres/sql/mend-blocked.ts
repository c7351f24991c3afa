import type { Connection } from '../connection.ts'
import { mendLanes } from './mend-lanes.ts'

// $1 limit
const LIST = `
  select distinct b.lane_id
    from {schema}.lane_blocks b
   where not exists (select from {schema}.outcomes o
                      where o.event_id = b.event_id and o.run = b.run and o.state = 'dead')
     and not exists (select from {schema}.queue u
                      where u.event_id = b.event_id and u.run = b.run and u.lane_id is null)
   limit $1`

/** Lets lanes go on whose dead event is dead no longer; says how many. Inside a transaction of the caller. */
export async function mendBlocked(connection: Connection, limit: number): Promise<number> {
  const { rows } = await connection.query<'lane_id'>(LIST, [limit])
  const lanes = rows.map(({ lane_id }) => lane_id ?? '')
  await mendLanes(connection, lanes)
  return lanes.length
}
