/**
 * Looks at so many messages in one place, newest first.
 *
 * As with events, which of them are looked at is decided before it is asked whether they fit, so that the number of rows
 * that are read does not depend on how many do.
 *
 * @module
 */

import type { LookedMessage, MessagePlace, MessageWalk } from '../../contract/messages.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 below  $2 from  $3 limit  $4 states or null  $5 destination or null
const walk = (looked: string): string => `
  with looked as materialized (${looked}
          order by 1 desc
          limit $3)
  select looked.id,
         ($4::text[] is null
            or coalesce(o.state, case when q.lease_token is not null and q.send_at > clock_timestamp()
                                      then 'sending' else 'ready' end) = any($4))
         and ($5::text is null or m.destination = $5) as fits
    from looked
    left join {schema}.messages m on m.id = looked.id
    left join {schema}.message_queue q on q.message_id = looked.id
    left join {schema}.message_outcomes o on o.message_id = looked.id
   order by 1 desc`

const WALK: Readonly<Record<MessagePlace, string>> = {
  messages: walk(`
         select id
           from {schema}.messages
          where id < $1 and id >= $2`),
  queue: walk(`
         select message_id as id
           from {schema}.message_queue
          where message_id < $1 and message_id >= $2`),
  stopped: walk(`
         select message_id as id
           from {schema}.message_outcomes
          where state in ('dead', 'unknown') and message_id < $1 and message_id >= $2`),
}

export async function walkMessages(
  connection: Connection,
  { place, below, from, limit, states, destination }: MessageWalk,
): Promise<readonly LookedMessage[]> {
  const { rows } = await connection.query<'id' | 'fits'>(WALK[place], [
    below,
    from,
    limit,
    states === undefined ? null : plainArray(states),
    destination ?? null,
  ])
  return rows.map(({ id, fits }) => ({ id: id ?? '', fits: fits === 't' }))
}
