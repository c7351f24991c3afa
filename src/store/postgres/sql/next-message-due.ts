import { textArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 destinations
const NEXT_DUE = `
  select (extract(epoch from min(first.send_at) - clock_timestamp()) * 1000)::bigint as due_in_ms
    from unnest($1::text[]) as wanted (name)
   cross join lateral (select q.send_at
                         from {schema}.message_queue q
                        where q.destination = wanted.name
                        order by q.send_at
                        limit 1) first
   where not exists (select from {schema}.paused_destinations p where p.name = wanted.name)`

export async function findNextMessageDueInMs(
  connection: Connection,
  destinations: readonly string[],
): Promise<number | undefined> {
  const { rows } = await connection.query<'due_in_ms'>(NEXT_DUE, [textArray(destinations)])
  const dueInMs = rows[0]?.due_in_ms
  return dueInMs == null ? undefined : Math.max(0, Number(dueInMs))
}
