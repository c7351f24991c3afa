import type { FailureWalk, WalkedFailure } from '../../contract/event-search.ts'
import { cutText } from '../../shared/cut-text.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { beginningOf } from './event-summary.ts'

// 1 since, in ms  2 where the last one stood, in ms, or null  3 its event or null  4 limit
//
// The last attempt says what was wrong. An event that was ended without one has its reason.
const walk = (looked: string): string => `
  with looked as materialized (${looked}
          limit ?4)
  select looked.event_id, looked.at, e.source, coalesce(a.reason, 'error') as reason,
         substr(cast(a.handler as blob), 1, 4100) as handler,
         ${beginningOf("coalesce(a.message, looked.reason, '')")} as message,
         coalesce(a.failed_at, looked.at) as failed_at
    from looked
    join {prefix}events e on e.id = looked.event_id
    left join {prefix}attempts a
      on a.number = (select max(number) from {prefix}attempts where event_id = looked.event_id)
   order by looked.at desc, looked.event_id desc`

const WALK = {
  dead: walk(`
         select event_id, settled_at as at, reason
           from {prefix}outcomes
          where state = 'dead' and settled_at >= ?1
            and (?2 is null or (settled_at, event_id) < (?2, ?3))
          order by settled_at desc, event_id desc`),
  failed: walk(`
         select event_id, run_at as at, null as reason
           from {prefix}queue
          where parked is null and attempts > 0 and lease_token is null and ?1 is not null
            and (?2 is null or (run_at, event_id) < (?2, ?3))
          order by run_at desc, event_id desc`),
} as const

export function walkFailures(
  connection: Connection,
  { of, since, after, limit }: FailureWalk,
): readonly WalkedFailure[] {
  type FailureRow = {
    event_id: string
    at: number
    source: string
    reason: string
    handler: Uint8Array | null
    message: Uint8Array
    failed_at: number
  }
  const params = [since.getTime(), after?.at ?? null, after?.eventId ?? null, limit]
  return connection.all<FailureRow>(WALK[of], params).map((row) => ({
    position: { at: row.at, eventId: row.event_id },
    source: row.source,
    failedAt: new Date(row.failed_at),
    reason: row.reason,
    handler: row.handler === null ? undefined : cutText(decodeText(row.handler)),
    message: cutText(decodeText(row.message)),
  }))
}
