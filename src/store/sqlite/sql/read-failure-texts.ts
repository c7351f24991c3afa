import type { EventId } from '../../../model/event.ts'
import type { FailureTexts } from '../../shared/encryption/sealed-search.ts'
import type { Connection } from '../connection.ts'

// 1 events
const READ = `
  select event_id, reason, message, cause
    from {prefix}attempts
   where event_id in (select value from json_each(?1))
   union all
  select o.event_id, o.reason, null, null
    from {prefix}outcomes o
   where o.event_id in (select value from json_each(?1))
     and o.reason is not null
     and o.run = (select max(run) from {prefix}outcomes where event_id = o.event_id)`

/** Why the latest runs of these events ended, and what their attempts say. */
export function readFailureTexts(
  connection: Connection,
  ids: readonly EventId[],
): readonly FailureTexts[] {
  type TextRow = {
    event_id: string
    reason: string | null
    message: string | null
    cause: string | null
  }
  return connection.all<TextRow>(READ, [JSON.stringify(ids)]).map((row) => ({
    eventId: row.event_id,
    reason: row.reason ?? undefined,
    message: row.message ?? undefined,
    cause: row.cause ?? undefined,
  }))
}
