/**
 * Messages as an operator sees them, put together from the tables they are spread over.
 *
 * @module
 */

import type { EventId } from '../../../model/event.ts'
import type {
  MessageFailureReason,
  MessageId,
  MessageRecord,
  MessageResponse,
} from '../../../model/message.ts'
import type { MessageOutcomeState, MessageState } from '../../../model/message-state.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import type { Connection } from '../connection.ts'

const IS_SENDING = `
         q.lease_token is not null and q.send_at > cast(unixepoch('subsec') * 1000 as integer)`

const SELECT_RECORDS = `
  select m.id, m.destination, m.key, m.event_id, m.content_type, m.headers, m.body, m.created_at, q.send_at,
         coalesce(q.uncertain_since, o.uncertain_since) as uncertain_since,
         coalesce(q.attempts, o.attempts) as attempts, o.reason, m.lane_key,
         case when q.message_id is not null and q.send_at is null then coalesce(
           (select b.message_id from {prefix}message_lane_blocks b where b.lane_id = q.lane_id limit 1),
           (select e.message_id from {prefix}message_queue e
             where e.lane_id = q.lane_id and e.lease_token is not null limit 1),
           (select e.message_id from {prefix}message_queue e
             where e.lane_id = q.lane_id order by e.lane_position limit 1)) end as blocked_by,
         (select count(*) from (select 1 from {prefix}message_queue w
                                 where w.lane_id = (select b.lane_id from {prefix}message_lane_blocks b
                                                     where b.message_id = m.id)
                                 limit 1000)) as holds_up,
         coalesce(o.state, case when ${IS_SENDING} then 'sending' else 'ready' end) as state,
         o.status, o.response_head, o.response_body, o.settled_at
    from {prefix}messages m
    left join {prefix}message_queue q on q.message_id = m.id
    left join {prefix}message_outcomes o on o.message_id = m.id`

// 1 id
const FIND = `${SELECT_RECORDS}
   where m.id = ?`

// 1 ids, as JSON
const READ = `${SELECT_RECORDS}
   where m.id in (select value from json_each(?))
   order by m.id desc`

// 1 event id  2 limit
const LIST_OF_EVENT = `${SELECT_RECORDS}
   where m.event_id = ?
   order by m.id
   limit ?`

// 1 key  2 limit
const LIST_BY_KEY = `${SELECT_RECORDS}
   where m.key = ?
   order by m.id
   limit ?`

// 1 id
const LIST_FAILURES = `
  select attempt, reason, message, duration_ms, failed_at, status, response_head, response_body
    from {prefix}message_attempts
   where message_id = ?
   order by number`

export function findMessage(connection: Connection, id: MessageId): MessageRecord | undefined {
  const [row] = connection.all<RecordRow>(FIND, [id])
  return row === undefined ? undefined : asMessageRecord(connection, row)
}

/** Newest first. */
export function readMessages(
  connection: Connection,
  ids: readonly MessageId[],
): readonly MessageRecord[] {
  return connection
    .all<RecordRow>(READ, [JSON.stringify(ids)])
    .map((row) => asMessageRecord(connection, row))
}

/** Oldest first. */
export function listMessagesOfEvent(
  connection: Connection,
  eventId: EventId,
  limit: number,
): readonly MessageRecord[] {
  return connection
    .all<RecordRow>(LIST_OF_EVENT, [eventId, limit])
    .map((row) => asMessageRecord(connection, row))
}

/** By the idempotency key, whatever the destination. */
export function listMessagesByKey(
  connection: Connection,
  key: string,
  limit: number,
): readonly MessageRecord[] {
  return connection
    .all<RecordRow>(LIST_BY_KEY, [key, limit])
    .map((row) => asMessageRecord(connection, row))
}

type ResponseRow = {
  status: number | null
  response_head: string | null
  response_body: Uint8Array | null
}

type RecordRow = ResponseRow & {
  id: string
  destination: string
  key: string
  event_id: string | null
  content_type: string
  headers: string
  body: Uint8Array
  created_at: number
  send_at: number | null
  uncertain_since: number | null
  attempts: number
  reason: string | null
  state: MessageState
  settled_at: number | null
  lane_key: string | null
  blocked_by: string | null
  holds_up: number
}

type FailureRow = ResponseRow & {
  attempt: number
  reason: MessageFailureReason
  message: string
  duration_ms: number
  failed_at: number
}

function asMessageRecord(connection: Connection, row: RecordRow): MessageRecord {
  return {
    id: row.id,
    destination: row.destination,
    key: row.key,
    state: row.state,
    reason: row.reason ?? undefined,
    attempts: row.attempts,
    sendAt: asDate(row.send_at),
    uncertainSince: asDate(row.uncertain_since),
    body: row.body,
    contentType: row.content_type,
    headers: readHeaders(row.headers),
    eventId: row.event_id ?? undefined,
    createdAt: new Date(row.created_at),
    lane: row.lane_key ?? undefined,
    blockedBy: row.blocked_by ?? undefined,
    holdsUp: row.holds_up,
    outcome:
      row.settled_at === null
        ? undefined
        : {
            state: row.state as MessageOutcomeState,
            settledAt: new Date(row.settled_at),
            response: asResponse(row),
          },
    failures: connection.all<FailureRow>(LIST_FAILURES, [row.id]).map((failure) => ({
      attempt: failure.attempt,
      reason: failure.reason,
      message: failure.message,
      durationMs: failure.duration_ms,
      failedAt: new Date(failure.failed_at),
      response: asResponse(failure),
    })),
  }
}

function asResponse({
  status,
  response_head,
  response_body,
}: ResponseRow): MessageResponse | undefined {
  if (status === null) return undefined
  return { status, head: response_head ?? '', body: response_body ?? new Uint8Array() }
}

function asDate(milliseconds: number | null): Date | undefined {
  return milliseconds === null ? undefined : new Date(milliseconds)
}
