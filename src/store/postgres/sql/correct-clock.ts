/**
 * Sees that the database's clock was set back, and puts right what would wait until it has caught up.
 *
 * It was set back if a heart has beaten in its future, or if something that was never tried is due in its
 * future: such an event is due when it is stored. The second is for a fleet that was down meanwhile.
 *
 * - Hearts count from now: otherwise a worker that dies now would be found dead only then.
 * - What was never tried is due now. What is due later because it failed keeps its time.
 * - A message keeps the wait it was given (`delayMs`, the time of its lease), counted from now.
 *
 * @module
 */

import type { Connection } from '../connection.ts'

// $1 tolerance in ms
const CORRECT = `
  with hearts as (
         update {schema}.workers
            set beat_at = clock_timestamp()
          where beat_at > clock_timestamp() + $1::float8 * interval '1 millisecond'
         returning 1),
       back as materialized (
         select exists (select from hearts)
             or exists (select
                          from {schema}.queue
                         where parked is null and attempts = 0 and crashes = 0 and not leasable
                           and run_at > (select clock_timestamp()) + $1::float8 * interval '1 millisecond')
             as is_seen),
       due as (
         update {schema}.queue
            set run_at = clock_timestamp()
          where parked is null and attempts = 0 and crashes = 0 and not leasable
            and run_at > clock_timestamp()
            and (select is_seen from back)),
       due_leasable as (
         update {schema}.queue
            set run_at = clock_timestamp()
          where parked is null and leasable and lease_token is null and attempts = 0
            and run_at > clock_timestamp()
            and (select is_seen from back)),
       messages as (
         update {schema}.message_queue q
            set send_at = clock_timestamp() + (q.send_at - coalesce(q.claimed_at, m.created_at)),
                claimed_at = case when q.claimed_at is not null then clock_timestamp() end
           from {schema}.messages m
          where m.id = q.message_id
            and (q.attempts = 0 or q.lease_token is not null)
            and coalesce(q.claimed_at, m.created_at) > clock_timestamp()
            and (select is_seen from back))
  select is_seen from back`

/** Whether the clock was set back. Runs inside a transaction of the caller. */
export async function correctClock(connection: Connection, toleranceMs: number): Promise<boolean> {
  const { rows } = await connection.query<'is_seen'>(CORRECT, [toleranceMs])
  return rows[0]?.is_seen === 't'
}
