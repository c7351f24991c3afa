import type { FailureWalk, WalkedFailure } from '../../contract/event-search.ts'
import { cutText, cutTextOf } from '../../shared/cut-text.ts'
import type { Connection } from '../connection.ts'
import { beginningOf } from './event-summary.ts'

// $1 since, in ms  $2 where the last one stood, in µs, or null  $3 its event or null  $4 limit
//
// The last attempt says what was wrong. An event that was ended without one has its reason.
const walk = (looked: string): string => `
  with looked as materialized (${looked}
          limit $4)
  select looked.event_id, (extract(epoch from looked.at) * 1000000)::bigint as at, e.source,
         coalesce(a.reason, 'error') as reason, left(a.handler, 1025) as handler,
         ${beginningOf("coalesce(a.message, looked.reason, '')")} as message,
         (extract(epoch from coalesce(a.failed_at, looked.at)) * 1000)::bigint as failed_at
    from looked
    join {schema}.events e on e.id = looked.event_id
    left join lateral (select * from {schema}.attempts
                        where attempts.event_id = looked.event_id
                        order by run desc, failed_at desc, attempt desc limit 1) a on true
   order by looked.at desc, looked.event_id desc`

const WALK = {
  dead: walk(`
         select event_id, settled_at as at, reason
           from {schema}.outcomes
          where state = 'dead'
            and settled_at >= 'epoch'::timestamptz + $1::float8 * interval '1 millisecond'
            and ($2::float8 is null
                 or (settled_at, event_id) < ('epoch'::timestamptz + $2 * interval '1 microsecond', $3::uuid))
          order by settled_at desc, event_id desc`),
  failed: walk(`
         select event_id, run_at as at, null as reason
           from {schema}.queue
          where parked is null and attempts > 0 and lease_token is null and $1::float8 is not null
            and ($2::float8 is null
                 or (run_at, event_id) < ('epoch'::timestamptz + $2 * interval '1 microsecond', $3::uuid))
          order by run_at desc, event_id desc`),
} as const

export async function walkFailures(
  connection: Connection,
  { of, since, after, limit }: FailureWalk,
): Promise<readonly WalkedFailure[]> {
  const { rows } = await connection.query(WALK[of], [
    since.getTime(),
    after?.at ?? null,
    after?.eventId ?? null,
    limit,
  ])
  return rows.map((row) => ({
    position: { at: Number(row['at']), eventId: row['event_id'] ?? '' },
    source: row['source'] ?? '',
    failedAt: new Date(Number(row['failed_at'])),
    reason: row['reason'] ?? '',
    handler: cutTextOf(row['handler']),
    message: cutText(row['message'] ?? ''),
  }))
}
