import type { EventState } from '../../../model/event-state.ts'
import type { SettledCount, SettledCountRequest } from '../../contract/stats.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'

// $1 from  $2 limit  $3 start, in ms  $4 length of a span, in ms  $5 source or null
const COUNT = `
  with looked as materialized (
         select event_id, state, settled_at
           from {schema}.outcomes
          where event_id >= $1
          order by event_id desc
          limit $2)
  select floor((extract(epoch from settled_at) * 1000 - $3::float8) / $4::float8)::integer as span, state,
         count(*) as found
    from looked
   where settled_at >= 'epoch'::timestamptz + $3 * interval '1 millisecond'
     and ($5::text is null
          or exists (select from {schema}.events e where e.id = looked.event_id and e.source = $5))
   group by 1, 2
   order by 1, 2`

export async function countSettled(
  connection: Connection,
  { from, source, start, spanMs, most }: SettledCountRequest,
): Promise<readonly SettledCount[]> {
  const { rows } = await connection.query<'span' | 'state' | 'found'>(COUNT, [
    from,
    most,
    start.getTime(),
    spanMs,
    source === undefined ? null : withoutNul(source),
  ])
  return rows.map(({ span, state, found }) => ({
    span: Number(span),
    state: state as EventState,
    count: Number(found),
  }))
}
