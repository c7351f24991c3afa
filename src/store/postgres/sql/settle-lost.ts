/**
 * Writes a failed attempt from outside the transaction that failed.
 *
 * The row must still say that this attempt is the next one. A backend whose client is gone may take a
 * moment to notice and holds the row until then, so that this waits for it, and only for so long: one
 * that still holds it afterwards may be another worker's, and then the lock's time-out is the answer.
 *
 * @module
 */

import type { Settlement } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { TransactionSettings } from '../transaction.ts'
import { agoMs } from '../../shared/ago-ms.ts'
import { wholeMs } from '../../shared/whole-ms.ts'
import { leaveLanes, mendLanes } from './mend-lanes.ts'
import { addAttempts } from './settle.ts'

/** For the caller's transaction: how long to wait for the transaction that holds the event. */
export const SETTLE_LOST: TransactionSettings = { statementTimeoutMs: 10_000, lockTimeoutMs: 1_000 }

// $1 event  $2 run  $3 attempts so far
const LOCK = `
  select event_id, run, lane_id, number, place, policy
    from {schema}.queue
   where event_id = $1 and run = $2 and attempts = $3 and parked is null
     for update`

// $1 event  $2 run  $3 attempts  $4 retry in ms
const RUN_AGAIN = `
  update {schema}.queue
     set attempts = $3, run_at = clock_timestamp() + $4::float8 * interval '1 millisecond'
   where event_id = $1 and run = $2`

// $1 event  $2 run  $3 attempts  $4 duration  $5 reason  $6 started ago in ms
const DIE = `
  with gone as (
         delete from {schema}.queue where event_id = $1 and run = $2 returning event_id, run, lane_id, place)
  insert into {schema}.outcomes
         (event_id, run, state, attempts, duration_ms, reason, started_at, settled_at, lane_id, place)
  select event_id, run, 'dead', $3::integer, $4::integer, $5::text,
         clock_timestamp() - $6::float8 * interval '1 millisecond', clock_timestamp(), lane_id, place
    from gone`

/** Says whether it wrote. Runs inside a transaction of the caller, with `SETTLE_LOST`. */
export async function settleLost(
  connection: Connection,
  settlement: Extract<Settlement, { state: 'ready' | 'dead' }>,
): Promise<boolean> {
  const { eventId, run, attempt } = settlement
  const { rows } = await connection.query(LOCK, [eventId, run, attempt - 1])
  const [row] = rows
  if (row === undefined) return false

  await addAttempts(connection, [settlement])
  if (settlement.state === 'ready') {
    await connection.query(RUN_AGAIN, [eventId, run, attempt, settlement.retryInMs])
    if (row['lane_id'] != null) await mendLanes(connection, [row['lane_id']])
  } else {
    const { durationMs, reason, failure } = settlement
    const startedAgoMs = agoMs(failure.ran?.startedMs) ?? null
    const values = [wholeMs(durationMs), withoutNul(reason), startedAgoMs]
    await connection.query(DIE, [eventId, run, attempt, ...values])
    await leaveLanes(connection, [{ state: 'dead', row }])
  }
  return true
}
