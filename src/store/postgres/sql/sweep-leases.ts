/**
 * Takes the leases of dead workers, and counts a crash on each of their events. One statement, so that it
 * happens whole or not.
 *
 * - A row that a step's transaction holds is skipped: that transaction may still commit, and the next sweep
 *   finds what it left.
 * - Whose lease it is, is asked of the very row that is locked. A row that was leased anew between the
 *   statement's snapshot and its lock is then looked at again as it is (`test/store/postgres/lease-races.test.ts`).
 *
 * @module
 */

import type { SweptEvent } from '../../contract/workers.ts'
import { textArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import { leaveLanes } from './mend-lanes.ts'
import { asSweptEvent, leftByDeath } from './sweep-workers.ts'

// $1 dead workers  $2 crashes max
const SWEEP = `
  with held as materialized (
         select q.event_id, q.run, q.attempts, q.crashes + 1 as crashes, q.lease_worker, q.lane_id, q.number,
                q.place, q.policy
           from {schema}.queue q
          where q.lease_token is not null and q.lease_worker = any($1)
          order by q.event_id
            for update skip locked),
       freed as (
         update {schema}.queue q
            set crashes = held.crashes, lease_token = null, lease_worker = null, lease_until = null,
                run_at = clock_timestamp()
           from held
          where q.event_id = held.event_id and q.run = held.run
            and held.crashes < $2::integer),
       gone as (
         delete from {schema}.queue q
          using held
          where q.event_id = held.event_id and q.run = held.run
            and held.crashes >= $2::integer),
       died as (
         insert into {schema}.outcomes (event_id, run, state, attempts, duration_ms, reason, settled_at, lane_id, place)
         select event_id, run, 'dead', attempts, 0, 'crashed', clock_timestamp(), lane_id, place
           from held
          where crashes >= $2::integer),
       noted as (
         insert into {schema}.attempts (event_id, run, attempt, reason, message, duration_ms, failed_at)
         select event_id, run, attempts, 'crashed', 'The worker died, or stood still, while it had the lease', 0,
                clock_timestamp()
           from held)
  select held.event_id, held.run, held.lane_id, held.number, held.place, held.policy, held.attempts as attempt, held.crashes, held.crashes >= $2::integer as is_dead,
         held.lease_worker as worker_id, e.source, e.type, encode(e.event_key, 'hex') as event_key
    from held
    left join {schema}.events e on e.id = held.event_id`

/** Runs inside a transaction of the caller. */
export async function sweepLeases(
  connection: Connection,
  { dead, crashesMax }: { dead: readonly string[]; crashesMax: number },
): Promise<readonly SweptEvent[]> {
  const { rows } = await connection.query(SWEEP, [textArray(dead), crashesMax])
  await leaveLanes(connection, rows.flatMap(leftByDeath))
  return rows.map(asSweptEvent)
}
