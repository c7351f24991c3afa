import type { EventId } from '../../../model/event.ts'
import { findOrderValue } from '../../../model/order-text.ts'
import type { EventState } from '../../../model/event-state.ts'
import type { EventRecord, Outcome, RecordedFailure } from '../../../model/outcome.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import type { Connection } from '../connection.ts'
import { prunedRecord } from '../../shared/pruned-record.ts'
import { decodeText } from '../decode-text.ts'
import { findBlocker } from './find-blocker.ts'
import { findLatestOutcome } from './find-outcome.ts'

// 1 event id
const FIND = `
  select e.id, e.source, e.event_key, cast(e.type as blob) as type, e.body, e.headers,
         e.received_at, e.occurred_at, e.version, e.sequence, e.verified_by, e.erased_at,
         q.attempts - (q.lease_token is not null) as attempts, q.crashes, q.run_at, q.parked, q.parked_reason,
         (select l.key
            from {prefix}lanes l
           where l.lane_id = coalesce(q.lane_id, (select o.lane_id
                                                    from {prefix}outcomes o
                                                   where o.event_id = e.id
                                                   order by o.run desc
                                                   limit 1))) as lane_key,
         (select coalesce(sum(d.count), 0) + (coalesce(max(d.outcome <> 'duplicate'), 0) = 0)
            from {prefix}deliveries d
           where d.event_id = e.id) as deliveries,
         q.lease_token is not null or
         exists (select 1
                   from {prefix}workers w, json_each(w.running) r
                  where r.value ->> 'eventId' = e.id
                    and r.value ->> 'attempt' = q.attempts + 1) as running
    from {prefix}events e
    left join {prefix}queue q on q.event_id = e.id
   where e.id = ?`

// 1 event id
const LIST_FAILURES = `
  select attempt, reason, message, duration_ms, handler, stack, cause, started_at, failed_at
    from {prefix}attempts
   where event_id = ?
   order by number`

export function findEvent(connection: Connection, eventId: EventId): EventRecord | undefined {
  const [row] = connection.all<EventRow>(FIND, [eventId])
  if (row === undefined) return findPruned(connection, eventId)

  const outcome = row.run_at === null ? findLatestOutcome(connection, eventId) : undefined
  return {
    id: row.id,
    source: row.source,
    key: row.event_key === null ? undefined : decodeText(row.event_key),
    type: decodeText(row.type),
    state: findState(row, outcome),
    reason: outcome?.reason ?? row.parked_reason ?? undefined,
    attempts: row.attempts ?? outcome?.attempts ?? 0,
    crashes: row.crashes ?? 0,
    nextRunAt: row.run_at === null || row.parked !== null ? undefined : new Date(row.run_at),
    payload: row.erased_at === null ? 'kept' : 'erased',
    lane: row.lane_key ?? undefined,
    ...(row.parked === 'waiting' && { blockedBy: findBlocker(connection, eventId) }),
    body: row.body,
    headers: readHeaders<EventRecord['headers']>(row.headers),
    receivedAt: new Date(row.received_at),
    occurredAt: row.occurred_at === null ? undefined : new Date(row.occurred_at),
    version: findOrderValue(row.version),
    sequence: findOrderValue(row.sequence),
    verifiedBy: row.verified_by,
    outcome,
    failures: listFailures(connection, eventId),
    deliveries: row.deliveries,
  }
}

/** How an event ended is kept for longer than its payload. */
function findPruned(connection: Connection, eventId: EventId): EventRecord | undefined {
  const outcome = findLatestOutcome(connection, eventId)
  return outcome && prunedRecord(eventId, outcome)
}

type EventRow = {
  id: string
  source: string
  event_key: Uint8Array | null
  type: Uint8Array
  body: Uint8Array
  headers: string
  received_at: number
  occurred_at: number | null
  version: string | null
  sequence: string | null
  verified_by: string
  erased_at: number | null
  attempts: number | null
  crashes: number | null
  run_at: number | null
  parked: EventState | null
  parked_reason: string | null
  lane_key: string | null
  deliveries: number
  running: number
}

function findState(row: EventRow, outcome: Outcome | undefined): EventState {
  if (outcome !== undefined) return outcome.state
  if (row.parked !== null) return row.parked
  return row.running === 1 ? 'running' : 'ready'
}

function listFailures(connection: Connection, eventId: EventId): RecordedFailure[] {
  return connection.all<FailureRow>(LIST_FAILURES, [eventId]).map(asFailure)
}

export type FailureRow = {
  attempt: number
  reason: RecordedFailure['reason']
  message: string
  duration_ms: number
  handler: string | null
  stack: string | null
  cause: string | null
  started_at: number | null
  failed_at: number
}

export function asFailure(row: FailureRow): RecordedFailure {
  const { attempt, reason, message, handler, stack, cause } = row
  return {
    attempt,
    reason,
    message,
    durationMs: row.duration_ms,
    ...(handler !== null && { handler }),
    ...(stack !== null && { stack }),
    ...(cause !== null && { cause }),
    ...(row.started_at !== null && { startedAt: new Date(row.started_at) }),
    failedAt: new Date(row.failed_at),
  }
}
