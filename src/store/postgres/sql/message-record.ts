/**
 * Messages as an operator sees them, put together from the tables they are spread over.
 *
 * @module
 */

import type { EventId } from '../../../model/event.ts'
import type {
  MessageFailure,
  MessageId,
  MessageRecord,
  MessageResponse,
} from '../../../model/message.ts'
import type { MessageOutcomeState, MessageState } from '../../../model/message-state.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection, TextRow } from '../connection.ts'

const SELECT_RECORDS = `
  select m.id, m.destination, m.key, m.event_id, m.content_type, m.headers, encode(m.body, 'hex') as body,
         (extract(epoch from m.created_at) * 1000)::bigint as created_at,
         (extract(epoch from q.send_at) * 1000)::bigint as send_at,
         (extract(epoch from coalesce(q.uncertain_since, o.uncertain_since)) * 1000)::bigint as uncertain_since,
         coalesce(q.attempts, o.attempts) as attempts, o.reason, m.lane_key,
         case when q.message_id is not null and q.send_at is null then coalesce(
           (select b.message_id from {schema}.message_lane_blocks b where b.lane_id = q.lane_id limit 1),
           (select e.message_id from {schema}.message_queue e
             where e.lane_id = q.lane_id and e.lease_token is not null limit 1),
           (select e.message_id from {schema}.message_queue e
             where e.lane_id = q.lane_id order by e.lane_position limit 1)) end as blocked_by,
         (select count(*)
            from {schema}.message_lane_blocks b
           cross join lateral (select from {schema}.message_queue w where w.lane_id = b.lane_id limit 1000) w
           where b.message_id = m.id) as holds_up,
         coalesce(o.state, case when q.lease_token is not null and q.send_at > clock_timestamp()
                                then 'sending' else 'ready' end) as state,
         o.status, o.response_head, encode(o.response_body, 'hex') as response_body,
         (extract(epoch from o.settled_at) * 1000)::bigint as settled_at,
         (select json_agg(json_build_object(
                   'attempt', a.attempt, 'reason', a.reason, 'message', a.message, 'durationMs', a.duration_ms,
                   'status', a.status, 'head', a.response_head, 'body', encode(a.response_body, 'hex'),
                   'failedAt', (extract(epoch from a.failed_at) * 1000)::bigint)
                 order by a.failed_at, a.attempt)
            from {schema}.message_attempts a
           where a.message_id = m.id) as failures
    from {schema}.messages m
    left join {schema}.message_queue q on q.message_id = m.id
    left join {schema}.message_outcomes o on o.message_id = m.id`

// $1 id
const FIND = `${SELECT_RECORDS}
   where m.id = $1`

// $1 ids
const READ = `${SELECT_RECORDS}
   where m.id = any($1::uuid[])
   order by m.id desc`

// $1 event  $2 limit
const LIST_OF_EVENT = `${SELECT_RECORDS}
   where m.event_id = $1
   order by m.id
   limit $2`

// $1 key  $2 limit
const LIST_BY_KEY = `${SELECT_RECORDS}
   where m.key = $1
   order by m.id
   limit $2`

export async function findMessage(
  connection: Connection,
  id: MessageId,
): Promise<MessageRecord | undefined> {
  const { rows } = await connection.query(FIND, [id])
  return rows[0] === undefined ? undefined : asMessageRecord(rows[0])
}

/** Newest first. */
export async function readMessages(
  connection: Connection,
  ids: readonly MessageId[],
): Promise<readonly MessageRecord[]> {
  const { rows } = await connection.query(READ, [plainArray(ids)])
  return rows.map(asMessageRecord)
}

/** Oldest first. */
export async function listMessagesOfEvent(
  connection: Connection,
  eventId: EventId,
  limit: number,
): Promise<readonly MessageRecord[]> {
  const { rows } = await connection.query(LIST_OF_EVENT, [eventId, limit])
  return rows.map(asMessageRecord)
}

/** By the idempotency key, whatever the destination. */
export async function listMessagesByKey(
  connection: Connection,
  key: string,
  limit: number,
): Promise<readonly MessageRecord[]> {
  const { rows } = await connection.query(LIST_BY_KEY, [withoutNul(key), limit])
  return rows.map(asMessageRecord)
}

function asMessageRecord(row: TextRow): MessageRecord {
  return {
    id: row['id'] ?? '',
    destination: row['destination'] ?? '',
    key: row['key'] ?? '',
    state: row['state'] as MessageState,
    reason: row['reason'] ?? undefined,
    attempts: Number(row['attempts']),
    sendAt: asDate(row['send_at']),
    uncertainSince: asDate(row['uncertain_since']),
    body: Buffer.from(row['body'] ?? '', 'hex'),
    contentType: row['content_type'] ?? '',
    headers: readHeaders(row['headers']),
    eventId: row['event_id'] ?? undefined,
    createdAt: new Date(Number(row['created_at'])),
    lane: row['lane_key'] ?? undefined,
    blockedBy: row['blocked_by'] ?? undefined,
    holdsUp: Number(row['holds_up']),
    outcome:
      row['settled_at'] == null
        ? undefined
        : {
            state: row['state'] as MessageOutcomeState,
            settledAt: new Date(Number(row['settled_at'])),
            response: asResponse({
              status: row['status'] == null ? null : Number(row['status']),
              head: row['response_head'] ?? null,
              body: row['response_body'] ?? null,
            }),
          },
    failures: (JSON.parse(row['failures'] ?? '[]') as FailureRow[]).map(asFailure),
  }
}

interface ResponseRow {
  readonly status: number | null
  readonly head: string | null
  readonly body: string | null
}

type FailureRow = ResponseRow &
  Pick<MessageFailure, 'reason' | 'message' | 'durationMs'> & {
    readonly attempt: number
    readonly failedAt: number
  }

function asFailure(row: FailureRow): MessageRecord['failures'][number] {
  const { attempt, reason, message, durationMs } = row
  const failedAt = new Date(row.failedAt)
  return { attempt, reason, message, durationMs, failedAt, response: asResponse(row) }
}

function asResponse({ status, head, body }: ResponseRow): MessageResponse | undefined {
  if (status === null) return undefined
  return { status, head: head ?? '', body: Buffer.from(body ?? '', 'hex') }
}

function asDate(milliseconds: string | null | undefined): Date | undefined {
  return milliseconds == null ? undefined : new Date(Number(milliseconds))
}
