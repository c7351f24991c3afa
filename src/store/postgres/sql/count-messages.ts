import type { MessageState } from '../../../model/message-state.ts'
import type { MessageStats } from '../../../model/stats.ts'
import type { Connection } from '../connection.ts'

// $1 limit
//
// One more than the limit is looked at, to tell whether there are more.
const COUNT = `
  with queued as (
         select destination,
                case when lease_token is not null and send_at > clock_timestamp() then 'sending' else 'ready' end as state
           from {schema}.message_queue
          limit $1::integer + 1),
       waiting as (
         (select message_id, state from {schema}.message_outcomes
           where state = 'dead' and state in ('dead', 'unknown') limit $1::integer + 1)
          union all
         (select message_id, state from {schema}.message_outcomes
           where state = 'unknown' and state in ('dead', 'unknown') limit $1::integer + 1))
  select destination, state, count(*) as found, (select count(*) from queued) <= $1::integer as is_exact
    from queued
   group by 1, 2
   union all
  select m.destination, waiting.state, count(*),
         (select count(*) from waiting other where other.state = waiting.state) <= $1::integer
    from waiting
    join {schema}.messages m on m.id = waiting.message_id
   group by 1, 2
   order by 1, 2`

/** Messages that are not sent yet, or wait for a person. */
export async function countMessages(
  connection: Connection,
  most: number,
): Promise<readonly MessageStats[]> {
  const { rows } = await connection.query<'destination' | 'state' | 'found' | 'is_exact'>(COUNT, [
    most,
  ])
  return rows.map(({ destination, state, found, is_exact }) => ({
    destination: destination ?? '',
    state: state as MessageState,
    count: Number(found),
    isExact: is_exact === 't',
  }))
}
