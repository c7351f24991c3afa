/**
 * Takes the bytes of an event out of every table: body, headers and the sender's key, the request it came in, what
 * failed attempts said, what its steps and messages held, and its result.
 *
 * What stays is that there was an event: its id, source, type and times, how it ended, and the hashes of its keys,
 * which say nothing of what they are hashes of. So a redelivery is still a duplicate. A dead event could not be run
 * without its body, and is discarded.
 *
 * @module
 */

import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event
const FIND = `
  select e.request_id,
         exists (select 1
                   from {prefix}messages m
                   left join {prefix}message_outcomes x on x.message_id = m.id
                  where m.event_id = e.id
                    and coalesce(x.state, 'queued') not in ('sent', 'discarded')) as has_unsent
    from {prefix}events e
   where e.id = ?`

// 1 event, in each of them
const ERASE: readonly string[] = [
  `update {prefix}events
      set body = x'', headers = '{}', event_key = null, version = null, sequence = null, request_id = null,
          erased_at = cast(unixepoch('subsec') * 1000 as integer)
    where id = ?`,
  `update {prefix}attempts
      set message = '', stack = null, cause = null
    where event_id = ?`,
  `update {prefix}steps set result = null where event_id = ?`,
  `update {prefix}runs set body = null where event_id = ?`,
  `update {prefix}outcomes
      set state = case state when 'dead' then 'discarded' else state end, reason = null, result = null
    where event_id = ?`,
  `delete from {prefix}message_attempts
    where message_id in (select id from {prefix}messages where event_id = ?)`,
  `update {prefix}message_outcomes
      set reason = null, response_head = null, response_body = null
    where message_id in (select id from {prefix}messages where event_id = ?)`,
  `update {prefix}messages set body = x'', headers = '{}', lane_key = null where event_id = ?`,
]

// 1 request
const ERASE_REQUEST = `
  delete from {prefix}requests
   where id = ?`

/** `false` while a message of it is not sent, or may have been: nothing was changed. Inside a write transaction. */
export function eraseEvent(connection: Connection, eventId: EventId): boolean {
  type Row = { request_id: string | null; has_unsent: number }
  const [found] = connection.all<Row>(FIND, [eventId])
  if (found?.has_unsent === 1) return false
  for (const text of ERASE) connection.run(text, [eventId])
  if (found?.request_id != null) connection.run(ERASE_REQUEST, [found.request_id])
  return true
}
