import type { MessageState } from '../../../model/message-state.ts'
import type { MessageStats } from '../../../model/stats.ts'
import type { Connection } from '../connection.ts'

// 1 limit
//
// One more than the limit is looked at, to tell whether there are more.
const COUNT = `
  with queued as (
         select destination,
                case when lease_token is not null and send_at > cast(unixepoch('subsec') * 1000 as integer)
                     then 'sending' else 'ready' end as state
           from {prefix}message_queue
          limit ?1 + 1),
       waiting as (
         select * from (select message_id, state from {prefix}message_outcomes
                         where state = 'dead' and state in ('dead', 'unknown') limit ?1 + 1)
          union all
         select * from (select message_id, state from {prefix}message_outcomes
                         where state = 'unknown' and state in ('dead', 'unknown') limit ?1 + 1))
  select destination, state, count(*) as found, (select count(*) from queued) <= ?1 as is_exact
    from queued
   group by 1, 2
   union all
  select m.destination, waiting.state, count(*),
         (select count(*) from waiting other where other.state = waiting.state) <= ?1
    from waiting
    join {prefix}messages m on m.id = waiting.message_id
   group by 1, 2
   order by 1, 2`

/** Messages that are not sent yet, or wait for a person. */
export function countMessages(connection: Connection, most: number): readonly MessageStats[] {
  type CountRow = { destination: string; state: MessageState; found: number; is_exact: number }
  return connection.all<CountRow>(COUNT, [most]).map(({ destination, state, found, is_exact }) => ({
    destination,
    state,
    count: found,
    isExact: is_exact === 1,
  }))
}
