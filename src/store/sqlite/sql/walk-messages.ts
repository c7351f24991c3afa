/**
 * Looks at so many messages in one place, newest first, as on PostgreSQL.
 *
 * @module
 */

import type { LookedMessage, MessagePlace, MessageWalk } from '../../contract/messages.ts'
import type { Connection } from '../connection.ts'

// 1 below  2 from  3 limit  4 states or null, as JSON  5 destination or null
const walk = (looked: string): string => `
  with looked as materialized (${looked}
          order by 1 desc
          limit ?3)
  select looked.id,
         (?4 is null
            or coalesce(o.state, case when q.lease_token is not null
                                       and q.send_at > cast(unixepoch('subsec') * 1000 as integer)
                                      then 'sending' else 'ready' end)
               in (select value from json_each(?4)))
         and (?5 is null or m.destination = ?5) as fits
    from looked
    left join {prefix}messages m on m.id = looked.id
    left join {prefix}message_queue q on q.message_id = looked.id
    left join {prefix}message_outcomes o on o.message_id = looked.id
   order by 1 desc`

const WALK: Readonly<Record<MessagePlace, string>> = {
  messages: walk(`
         select id
           from {prefix}messages
          where id < ?1 and id >= ?2`),
  queue: walk(`
         select message_id as id
           from {prefix}message_queue
          where message_id < ?1 and message_id >= ?2`),
  stopped: walk(`
         select message_id as id
           from {prefix}message_outcomes
          where state in ('dead', 'unknown') and message_id < ?1 and message_id >= ?2`),
}

export function walkMessages(
  connection: Connection,
  { place, below, from, limit, states, destination }: MessageWalk,
): readonly LookedMessage[] {
  return connection
    .all<{ id: string; fits: number }>(WALK[place], [
      below,
      from,
      limit,
      states === undefined ? null : JSON.stringify(states),
      destination ?? null,
    ])
    .map(({ id, fits }) => ({ id, fits: fits === 1 }))
}
