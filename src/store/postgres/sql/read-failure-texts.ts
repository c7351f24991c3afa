import type { EventId } from '../../../model/event.ts'
import type { FailureTexts } from '../../shared/encryption/sealed-search.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 events
const READ = `
  select event_id, reason, message, cause
    from {schema}.attempts
   where event_id = any($1::uuid[])
   union all
  select asked.id, o.reason, null, null
    from unnest($1::uuid[]) as asked (id)
    join lateral (select reason
                    from {schema}.outcomes
                   where outcomes.event_id = asked.id order by run desc limit 1) o on o.reason is not null`

/** Why the latest runs of these events ended, and what their attempts say. */
export async function readFailureTexts(
  connection: Connection,
  ids: readonly EventId[],
): Promise<readonly FailureTexts[]> {
  const { rows } = await connection.query<'event_id' | 'reason' | 'message' | 'cause'>(READ, [
    plainArray(ids),
  ])
  return rows.map((row) => ({
    eventId: row.event_id ?? '',
    reason: row.reason ?? undefined,
    message: row.message ?? undefined,
    cause: row.cause ?? undefined,
  }))
}
