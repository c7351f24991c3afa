/**
 * An event as a list has it, put together from the tables it is spread over.
 *
 * @module
 */

import type { EventState, SettledState } from '../../../model/event-state.ts'
import type { EventSummary } from '../../../model/event-summary.ts'
import { cutText, cutTextOf } from '../../shared/cut-text.ts'
import { decodeText } from '../decode-text.ts'

/** The beginning of a text as bytes, or all of one that is encrypted (`SEALED` in `cipher.ts`): a part of it cannot be opened. */
export const beginningOf = (text: string): string =>
  `case when instr(${text}, 'hookonce:sealed:') = 1 then cast(${text} as blob)
              else substr(cast(${text} as blob), 1, 4100) end`

/** The columns of an event `e` with its queue row `q`, its outcome `o` and its last failure `a`. */
export const SUMMARY_COLUMNS = `
         e.id, e.source, substr(cast(e.type as blob), 1, 4100) as type, substr(e.event_key, 1, 4100) as event_key,
         length(e.body) as body_bytes, e.received_at, e.occurred_at, q.event_id is not null as is_queued, q.parked,
         substr(q.parked_reason, 1, 1025) as parked_reason, coalesce(q.crashes, 0) as crashes,
         coalesce(q.run, o.run, 0) as run, q.attempts - (q.lease_token is not null) as queue_attempts, q.run_at,
         q.lease_token is not null or
         exists (select 1
                   from {prefix}workers w, json_each(w.running) r
                  where r.value ->> 'eventId' = q.event_id
                    and r.value ->> 'attempt' = q.attempts + 1) as is_running,
         o.state as outcome_state, o.attempts as outcome_attempts,
         ${beginningOf('o.reason')} as outcome_reason, o.settled_at,
         ${beginningOf('a.message')} as error, substr(cast(a.handler as blob), 1, 4100) as handler`

/** What belongs to `e`: the latest run, in the queue or at rest, and the latest failure. */
export const SUMMARY_JOINS = `
    left join {prefix}queue q
      on q.event_id = e.id and q.run = (select max(run) from {prefix}queue where event_id = e.id)
    left join {prefix}outcomes o
      on o.event_id = e.id and o.run = (select max(run) from {prefix}outcomes where event_id = e.id)
    left join {prefix}attempts a
      on a.number = (select max(number) from {prefix}attempts where event_id = e.id)`

export type SummaryRow = {
  id: string
  source: string
  type: Uint8Array
  event_key: Uint8Array | null
  body_bytes: number
  received_at: number
  occurred_at: number | null
  is_queued: number
  parked: EventState | null
  parked_reason: string | null
  crashes: number
  run: number
  queue_attempts: number | null
  run_at: number | null
  is_running: number
  outcome_state: SettledState | null
  outcome_attempts: number | null
  outcome_reason: Uint8Array | null
  settled_at: number | null
  error: Uint8Array | null
  handler: Uint8Array | null
}

export function asEventSummary(row: SummaryRow): EventSummary {
  const isQueued = row.is_queued === 1
  const waiting: EventState = row.is_running === 1 ? 'running' : 'ready'
  const outcomeReason = row.outcome_reason === null ? null : decodeText(row.outcome_reason)
  return {
    id: row.id,
    source: row.source,
    type: cutText(decodeText(row.type)),
    key: row.event_key === null ? undefined : cutText(decodeText(row.event_key)),
    state: isQueued ? (row.parked ?? waiting) : (row.outcome_state as SettledState),
    reason: cutTextOf(isQueued ? row.parked_reason : outcomeReason),
    run: row.run,
    attempts: (isQueued ? row.queue_attempts : row.outcome_attempts) ?? 0,
    crashes: row.crashes,
    error: row.error === null ? undefined : cutText(decodeText(row.error)),
    handler: row.handler === null ? undefined : cutText(decodeText(row.handler)),
    receivedAt: new Date(row.received_at),
    occurredAt: asDate(row.occurred_at),
    nextRunAt: isQueued && row.parked === null ? asDate(row.run_at) : undefined,
    settledAt: isQueued ? undefined : asDate(row.settled_at),
    bodyBytes: row.body_bytes,
  }
}

function asDate(milliseconds: number | null): Date | undefined {
  return milliseconds === null ? undefined : new Date(milliseconds)
}
