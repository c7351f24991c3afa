import type { EventState } from '../../../model/event-state.ts'
import type { SettledCount, SettledCountRequest } from '../../contract/stats.ts'
import type { Connection } from '../connection.ts'

// 1 from  2 limit  3 start, in ms  4 length of a span, in ms  5 source or null
const COUNT = `
  with looked as materialized (
         select event_id, state, settled_at
           from {prefix}outcomes
          where event_id >= ?1
          order by event_id desc
          limit ?2)
  select (settled_at - ?3) / ?4 as span, state, count(*) as found
    from looked
   where settled_at >= ?3
     and (?5 is null
          or exists (select 1 from {prefix}events e where e.id = looked.event_id and e.source = ?5))
   group by 1, 2
   order by 1, 2`

export function countSettled(
  connection: Connection,
  { from, source, start, spanMs, most }: SettledCountRequest,
): readonly SettledCount[] {
  type CountRow = { span: number; state: EventState; found: number }
  return connection
    .all<CountRow>(COUNT, [from, most, start.getTime(), spanMs, source ?? null])
    .map(({ span, state, found }) => ({ span: Math.floor(span), state, count: found }))
}
