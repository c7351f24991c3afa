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

// $1 event
const FIND = `
  select e.request_id,
         exists (select
                   from {schema}.messages m
                   left join {schema}.message_outcomes x on x.message_id = m.id
                  where m.event_id = e.id
                    and coalesce(x.state, 'queued') not in ('sent', 'discarded')) as has_unsent
    from {schema}.events e
   where e.id = $1`

// $1 event, in each of them
const ERASE: readonly string[] = [
  `update {schema}.events
      set body = '', headers = '{}', event_key = null, version = null, sequence = null, request_id = null,
          erased_at = clock_timestamp()
    where id = $1`,
  `update {schema}.attempts
      set message = '', stack = null, cause = null
    where event_id = $1`,
  `update {schema}.steps set result = null where event_id = $1`,
  `update {schema}.runs set body = null where event_id = $1`,
  `update {schema}.outcomes
      set state = case state when 'dead' then 'discarded' else state end, reason = null, result = null
    where event_id = $1`,
  `delete from {schema}.message_attempts
    where message_id in (select id from {schema}.messages where event_id = $1)`,
  `update {schema}.message_outcomes
      set reason = null, response_head = null, response_body = null
    where message_id in (select id from {schema}.messages where event_id = $1)`,
  `update {schema}.messages set body = '', headers = '{}', lane_key = null where event_id = $1`,
]

// $1 request
const ERASE_REQUEST = `
  delete from {schema}.requests
   where id = $1`

/** `false` while a message of it is not sent, or may have been: nothing was changed. Under the event's locks. */
export async function eraseEvent(connection: Connection, eventId: EventId): Promise<boolean> {
  const { rows } = await connection.query<'request_id' | 'has_unsent'>(FIND, [eventId])
  const [found] = rows
  if (found?.has_unsent === 't') return false
  for (const text of ERASE) await connection.query(text, [eventId])
  if (found?.request_id != null) await connection.query(ERASE_REQUEST, [found.request_id])
  return true
}
