/**
 * An event as a list has it, put together from the tables it is spread over.
 *
 * @module
 */

import type { EventState, SettledState } from '../../../model/event-state.ts'
import type { EventSummary } from '../../../model/event-summary.ts'
import { cutText, cutTextOf } from '../../shared/cut-text.ts'
import type { TextRow } from '../connection.ts'

/** The beginning of a text, or all of one that is encrypted (`SEALED` in `cipher.ts`): a part of it cannot be opened. */
export const beginningOf = (text: string): string =>
  `case when starts_with(${text}, 'hookonce:sealed:') then ${text} else left(${text}, 1025) end`

/** The columns of an event `e` with its queue row `q`, its outcome `o` and its last failure `a`. */
export const SUMMARY_COLUMNS = `
         e.id, e.source, left(e.type, 1025) as type, encode(substring(e.event_key from 1 for 4100), 'hex') as event_key,
         octet_length(e.body) as body_bytes,
         (extract(epoch from e.received_at) * 1000)::bigint as received_at,
         (extract(epoch from e.occurred_at) * 1000)::bigint as occurred_at,
         q.event_id is not null as is_queued, q.parked, left(q.parked_reason, 1025) as parked_reason,
         coalesce(q.crashes, 0) as crashes, coalesce(q.run, o.run, 0) as run,
         q.attempts - (q.lease_token is not null)::integer as queue_attempts,
         (extract(epoch from q.run_at) * 1000)::bigint as run_at,
         q.lease_token is not null or exists (
           select
             from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
            where r.event_id = q.event_id and r.attempt = q.attempts + 1) as is_running,
         o.state as outcome_state, o.attempts as outcome_attempts, ${beginningOf('o.reason')} as outcome_reason,
         (extract(epoch from o.settled_at) * 1000)::bigint as settled_at,
         ${beginningOf('a.message')} as error, left(a.handler, 1025) as handler`

/** What they are read from: the latest run, in the queue or at rest, and the latest failure. */
export const SUMMARY_TABLES = `
         {schema}.events e
    left join lateral (select * from {schema}.queue
                        where queue.event_id = e.id order by run desc limit 1) q on true
    left join lateral (select * from {schema}.outcomes
                        where outcomes.event_id = e.id order by run desc limit 1) o on true
    left join lateral (select * from {schema}.attempts
                        where attempts.event_id = e.id
                        order by run desc, failed_at desc, attempt desc limit 1) a on true`

export function asEventSummary(row: TextRow): EventSummary {
  const isQueued = row['is_queued'] === 't'
  const parked = row['parked'] as EventState | null | undefined
  const waiting: EventState = row['is_running'] === 't' ? 'running' : 'ready'
  return {
    id: row['id'] ?? '',
    source: row['source'] ?? '',
    type: cutText(row['type'] ?? ''),
    key:
      row['event_key'] == null
        ? undefined
        : cutText(Buffer.from(row['event_key'], 'hex').toString()),
    state: isQueued ? (parked ?? waiting) : (row['outcome_state'] as SettledState),
    reason: cutTextOf(isQueued ? row['parked_reason'] : row['outcome_reason']),
    run: Number(row['run']),
    attempts: Number((isQueued ? row['queue_attempts'] : row['outcome_attempts']) ?? 0),
    crashes: Number(row['crashes']),
    error: cutTextOf(row['error']),
    handler: cutTextOf(row['handler']),
    receivedAt: new Date(Number(row['received_at'])),
    occurredAt: asDate(row['occurred_at']),
    nextRunAt: isQueued && parked == null ? asDate(row['run_at']) : undefined,
    settledAt: isQueued ? undefined : asDate(row['settled_at']),
    bodyBytes: Number(row['body_bytes']),
  }
}

function asDate(milliseconds: string | null | undefined): Date | undefined {
  return milliseconds == null ? undefined : new Date(Number(milliseconds))
}
