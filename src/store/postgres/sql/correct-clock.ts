import type { Connection } from '../connection.ts'

// $1 tolerance in ms
//
// What is due later because it failed keeps its time: that is at most the wait it would have had anyway.
const CORRECT = `
  with early as (
         update {schema}.workers
            set beat_at = clock_timestamp()
          where beat_at > clock_timestamp() + $1::float8 * interval '1 millisecond'
         returning 1),
       due as (
         update {schema}.queue
            set run_at = clock_timestamp()
          where parked is null and attempts = 0 and crashes = 0 and not leasable
            and run_at > clock_timestamp()
            and exists (select from early)),
       due_leasable as (
         update {schema}.queue
            set run_at = clock_timestamp()
          where parked is null and leasable and lease_token is null and attempts = 0
            and run_at > clock_timestamp()
            and exists (select from early))
  select exists (select from early) as went_back`

/** Whether the clock was set back. Runs inside a transaction of the caller. */
export async function correctClock(connection: Connection, toleranceMs: number): Promise<boolean> {
  const { rows } = await connection.query<'went_back'>(CORRECT, [toleranceMs])
  return rows[0]?.went_back === 't'
}
