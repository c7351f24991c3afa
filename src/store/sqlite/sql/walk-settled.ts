import type { SettledEvent, SettledWalk } from '../../contract/event-search.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

// 1 after  2 below  3 limit
//
// Which events are looked at is decided before anything else is asked of them, as in `walk-events.ts`.
const WALK = `
  with looked as materialized (
         select event_id, max(run) as run
           from {prefix}outcomes
          where event_id > ? and event_id < ?
          group by event_id
          order by event_id
          limit ?)
  select looked.event_id, looked.run, e.source, cast(e.type as blob) as type, e.id is not null as is_here,
         e.erased_at is not null as is_erased,
         o.state = 'done' and not exists (
           select 1 from {prefix}queue q where q.event_id = looked.event_id) as is_done
    from looked
    join {prefix}outcomes o on o.event_id = looked.event_id and o.run = looked.run
    left join {prefix}events e on e.id = looked.event_id
   order by looked.event_id`

/** Looks at so many events that have come to rest, oldest first. */
export function walkSettled(
  connection: Connection,
  { after, below, limit }: SettledWalk,
): readonly SettledEvent[] {
  return connection.all<SettledRow>(WALK, [after, below, limit]).map((row) => ({
    id: row.event_id,
    run: row.run,
    isDone: row.is_done === 1,
    payload: row.is_here === 0 ? 'pruned' : row.is_erased === 1 ? 'erased' : 'kept',
    source: row.source ?? '',
    type: row.type === null ? '' : decodeText(row.type),
  }))
}

type SettledRow = {
  event_id: string
  run: number
  source: string | null
  type: Uint8Array | null
  is_here: number
  is_erased: number
  is_done: number
}
