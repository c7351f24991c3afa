import type { EventId } from '../../../model/event.ts'
import type { OutcomeView } from '../../contract/store.ts'
import type { Connection } from '../connection.ts'
import { OUTCOME_COLUMNS, findOutcomeIn } from './outcome-row.ts'

// $1 event
const FIND = `
  select q.event_id is not null as is_queued, q.parked,
         -- One that is leased has its running attempt counted already.
         q.attempts - (q.lease_token is not null)::integer as attempts,${OUTCOME_COLUMNS}
    from (select $1::uuid as event_id) wanted
    left join lateral (select * from {schema}.queue
                        where queue.event_id = wanted.event_id order by run desc limit 1) q on true
    left join lateral (select * from {schema}.outcomes
                        where outcomes.event_id = wanted.event_id order by run desc limit 1) o on true`

export async function findOutcome(
  connection: Connection,
  eventId: EventId,
): Promise<OutcomeView | undefined> {
  const { rows } = await connection.query(FIND, [eventId])
  const row = rows[0] ?? {}
  const outcome = findOutcomeIn(row)
  if (row['is_queued'] === 't') {
    return {
      outcome: undefined,
      attempts: Number(row['attempts']),
      parked: row['parked'] ?? undefined,
    }
  }
  if (outcome === undefined) return undefined
  // The last attempt of an event that died has failed as well.
  const failed = outcome.state === 'dead' ? outcome.attempts : Math.max(outcome.attempts - 1, 0)
  return { outcome, attempts: failed, parked: undefined }
}
