/**
 * Removes messages that were sent or discarded long enough ago.
 *
 * One of an event that can still run is kept, since its row is what keeps the message from being sent twice: an event
 * that is queued or dead would write it again.
 *
 * @module
 */

import type { PruneStep } from '../../contract/retention.ts'
import { lowestId, lowestIdAt } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'
import type { PruneRequest } from './prune-payloads.ts'

// 1 settled before  2 after message  3 before message  4 limit
const PAGE = `
  select x.message_id,
         x.state in ('sent', 'discarded') and x.settled_at < ?
         and not exists (select 1
                           from {prefix}messages m
                           join {prefix}queue q on q.event_id = m.event_id
                          where m.id = x.message_id)
         and not exists (select 1
                           from {prefix}messages m
                           join {prefix}outcomes o on o.event_id = m.event_id and o.state = 'dead'
                          where m.id = x.message_id) as goes
    from {prefix}message_outcomes x
   where x.message_id > ? and x.message_id < ?
   order by x.message_id
   limit ?`

// 1 messages, as JSON
const LISTED = '(select value from json_each(?))'
const DELETE_MESSAGES = `delete from {prefix}messages where id in ${LISTED}`
const DELETE_OUTCOMES = `delete from {prefix}message_outcomes where message_id in ${LISTED}`
const DELETE_ATTEMPTS = `delete from {prefix}message_attempts where message_id in ${LISTED}`

/** Inside a write transaction. */
export function pruneMessages(
  connection: Connection,
  { limits, after, most }: PruneRequest,
): PruneStep {
  const page = connection.all<{ message_id: string; goes: number }>(PAGE, [
    limits.messages,
    after ?? lowestId,
    lowestIdAt(limits.messages ?? 0),
    most,
  ])
  const ids = JSON.stringify(
    page.filter(({ goes }) => goes === 1).map(({ message_id }) => message_id),
  )
  connection.run(DELETE_OUTCOMES, [ids])
  connection.run(DELETE_ATTEMPTS, [ids])
  return {
    removed: { messages: connection.run(DELETE_MESSAGES, [ids]) },
    next: page.length < most ? undefined : page.at(-1)?.message_id,
    isBusy: false,
  }
}
