import type { SettledEvent, SettledWalk } from '../../contract/event-search.ts'
import type { Connection } from '../connection.ts'

// $1 after  $2 below  $3 limit
//
// Which events are looked at is decided before anything else is asked of them, as in `walk-events.ts`.
const WALK = `
  with looked as materialized (
         select event_id, max(run) as run
           from {schema}.outcomes
          where event_id > $1 and event_id < $2
          group by event_id
          order by event_id
          limit $3)
  select looked.event_id, looked.run, e.source, e.type, e.id is not null as is_here,
         e.erased_at is not null as is_erased,
         o.state = 'done' and not exists (
           select from {schema}.queue q where q.event_id = looked.event_id) as is_done
    from looked
    join {schema}.outcomes o on o.event_id = looked.event_id and o.run = looked.run
    left join {schema}.events e on e.id = looked.event_id
   order by looked.event_id`

/** Looks at so many events that have come to rest, oldest first. */
export async function walkSettled(
  connection: Connection,
  { after, below, limit }: SettledWalk,
): Promise<readonly SettledEvent[]> {
  const { rows } = await connection.query<
    'event_id' | 'run' | 'source' | 'type' | 'is_here' | 'is_erased' | 'is_done'
  >(WALK, [after, below, limit])
  return rows.map((row) => ({
    id: row.event_id ?? '',
    run: Number(row.run),
    isDone: row.is_done === 't',
    payload: row.is_here !== 't' ? 'pruned' : row.is_erased === 't' ? 'erased' : 'kept',
    source: row.source ?? '',
    type: row.type ?? '',
  }))
}
