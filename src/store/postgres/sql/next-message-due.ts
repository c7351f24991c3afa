import { plainArray, textArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 destinations  $2 from how long ago on, in ms  $3 within ms
//
// From the low-water positions of the claims, for the same reason, and no further than a relay would wait: what was leased has
// left a dead entry where its lease would have ended. Measured as there: 28 to 34 ms without, 1 ms with.
const NEXT_DUE = `
  select (extract(epoch from min(first.send_at) - clock_timestamp()) * 1000)::bigint as due_in_ms
    from (select name, now - age_ms * interval '1 millisecond' as low_water,
                 now + $3::bigint * interval '1 millisecond' as horizon
            from (select clock_timestamp() as now) clock,
                 unnest($1::text[], $2::bigint[]) as w (name, age_ms)) wanted
   cross join lateral (select q.send_at
                         from {schema}.message_queue q
                        where q.destination = wanted.name
                          and q.send_at >= coalesce(wanted.low_water, '-infinity')
                          and q.send_at <= wanted.horizon
                        order by q.send_at
                        limit 1) first
   where not exists (select from {schema}.pauses p where p.kind = 'destination' and p.name = wanted.name)`

export async function findNextMessageDueInMs(
  connection: Connection,
  wanted: readonly { readonly destination: string; readonly ageMs: number | undefined }[],
  withinMs: number,
): Promise<number | undefined> {
  const { rows } = await connection.query<'due_in_ms'>(NEXT_DUE, [
    textArray(wanted.map(({ destination }) => destination)),
    plainArray(wanted.map(({ ageMs }) => ageMs ?? 'NULL')),
    withinMs,
  ])
  const dueInMs = rows[0]?.due_in_ms
  return dueInMs == null ? undefined : Math.max(0, Number(dueInMs))
}
