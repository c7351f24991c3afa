/**
 * An event as an operator sees it, put together from the tables it is spread over.
 *
 * Only PostgreSQL: on SQLite it is read by `sql/find-event.ts` alone.
 *
 * @module
 */

import type { DeliveryHeaders } from '../../../model/delivery.ts'
import { findOrderValue } from '../../../model/order-text.ts'
import type { EventState } from '../../../model/event-state.ts'
import type { EventRecord, RecordedFailure } from '../../../model/outcome.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import type { TextRow } from '../connection.ts'
import { OUTCOME_COLUMNS, findOutcomeIn } from './outcome-row.ts'

/** A failed attempt as JSON, from its row. */
export const FAILURE_JSON = `
                   json_build_object('attempt', attempt, 'reason', reason, 'message', message,
                                     'durationMs', duration_ms, 'handler', handler, 'stack', stack,
                                     'cause', cause,
                                     'startedAt', (extract(epoch from started_at) * 1000)::bigint,
                                     'failedAt', (extract(epoch from failed_at) * 1000)::bigint)`

/** To be followed by what narrows `e`. */
export const SELECT_RECORDS = `
  select e.id, e.source, encode(e.event_key, 'hex') as event_key, e.type, encode(e.body, 'hex') as body, e.headers,
         (extract(epoch from e.received_at) * 1000)::bigint as received_at,
         (extract(epoch from e.occurred_at) * 1000)::bigint as occurred_at, e.version, e.sequence, e.verified_by,
         e.erased_at is not null as is_erased,
         q.event_id is not null as is_queued, q.parked, q.parked_reason, q.crashes,
         q.attempts - (q.lease_token is not null)::integer as attempts,
         (select l.key from {schema}.lanes l
           where l.lane_id = coalesce(q.lane_id, o.lane_id)) as lane_key,
         (extract(epoch from q.run_at) * 1000)::bigint as run_at,
         q.lease_token is not null or exists (
           select
             from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
            where r.event_id = e.id and r.attempt = q.attempts + 1) as is_running,${OUTCOME_COLUMNS},
         (select json_agg(${FAILURE_JSON}
                          order by failed_at, attempt)
            from {schema}.attempts
           where attempts.event_id = e.id) as failures,
         (select coalesce(sum(count), 0) + case when bool_or(outcome <> 'duplicate') then 0 else 1 end
            from {schema}.deliveries
           where deliveries.event_id = e.id) as deliveries
    from {schema}.events e
    left join lateral (select * from {schema}.queue
                        where queue.event_id = e.id order by run desc limit 1) q on true
    left join lateral (select * from {schema}.outcomes
                        where outcomes.event_id = e.id order by run desc limit 1) o on true`

export function asEventRecord(row: TextRow): EventRecord {
  const isQueued = row['is_queued'] === 't'
  const outcome = isQueued ? undefined : findOutcomeIn(row)
  const parked = row['parked'] as EventState | null | undefined
  const waiting: EventState = row['is_running'] === 't' ? 'running' : 'ready'
  return {
    id: row['id'] ?? '',
    source: row['source'] ?? '',
    key: row['event_key'] == null ? undefined : Buffer.from(row['event_key'], 'hex').toString(),
    type: row['type'] ?? '',
    state: outcome?.state ?? parked ?? waiting,
    reason: (isQueued ? row['parked_reason'] : outcome?.reason) ?? undefined,
    attempts: isQueued ? Number(row['attempts']) : (outcome?.attempts ?? 0),
    crashes: Number(row['crashes'] ?? 0),
    nextRunAt: isQueued && parked == null ? new Date(Number(row['run_at'])) : undefined,
    payload: row['is_erased'] === 't' ? 'erased' : 'kept',
    lane: row['lane_key'] ?? undefined,
    body: Buffer.from(row['body'] ?? '', 'hex'),
    headers: readHeaders<DeliveryHeaders>(row['headers']),
    receivedAt: new Date(Number(row['received_at'])),
    occurredAt: row['occurred_at'] == null ? undefined : new Date(Number(row['occurred_at'])),
    version: findOrderValue(row['version']),
    sequence: findOrderValue(row['sequence']),
    verifiedBy: row['verified_by'] ?? '',
    outcome,
    failures: (JSON.parse(row['failures'] ?? '[]') as FailureRow[]).map(asFailure),
    deliveries: Number(row['deliveries'] ?? 0),
  }
}

/** As `FAILURE_JSON` gives it. */
export type FailureRow = Pick<RecordedFailure, 'attempt' | 'reason' | 'message' | 'durationMs'> & {
  readonly handler: string | null
  readonly stack: string | null
  readonly cause: string | null
  readonly startedAt: number | null
  readonly failedAt: number
}

export function asFailure(row: FailureRow): RecordedFailure {
  const { handler, stack, cause, startedAt, failedAt, ...failure } = row
  return {
    ...failure,
    ...(handler !== null && { handler }),
    ...(stack !== null && { stack }),
    ...(cause !== null && { cause }),
    ...(startedAt !== null && { startedAt: new Date(startedAt) }),
    failedAt: new Date(failedAt),
  }
}
