/**
 * Counts a crash on what dead workers were running. One statement, so that it happens whole or not.
 *
 * - The records of the dead are locked by the caller (`list-hearts.ts`): no crash counts twice.
 * - An event counts only while the queue says that the listed attempt is still the next one, and
 *   no transaction holds it. One that is held stays listed: a frozen worker still has it open, and the
 *   database will end that transaction in time.
 * - A list outlives the COMMIT of its group: the slot writes it anew when it runs something else. An event that has ended
 *   and was queued again begins with the attempt that an old list may name, so what was due only after the list was
 *   written is not what it was about: nothing is claimed before it is due. Both times are the database's. Where its clock
 *   is set back, what is queued moves with it (`correct-clock.ts`), and an old list may count once more.
 * - Each list is held against the queue before one of several is chosen: what is left of a later attempt says nothing.
 * - Every crash is noted among the failures. It is not one of the attempts: those are for handlers that
 *   fail, and a process may die of what its neighbours do.
 *
 * @module
 */

import type { SweptEvent } from '../../contract/workers.ts'
import { textArray } from '../binary-array.ts'
import type { Connection, TextRow } from '../connection.ts'
import { leaveLanes } from './mend-lanes.ts'
import type { LeftLane } from './mend-lanes.ts'

// $1 dead workers  $2 crashes max
const SWEEP = `
  with stale as materialized (
         select worker_id, slot, running, running_attempts, running_since
           from {schema}.workers
          where worker_id = any($1)),
       listed as materialized (
         select distinct on (r.event_id) stale.worker_id, stale.slot, r.event_id, r.attempt
           from stale
          cross join lateral unnest(stale.running, stale.running_attempts) as r (event_id, attempt)
           join {schema}.queue q on q.event_id = r.event_id and q.attempts = r.attempt - 1
          where q.run_at <= stale.running_since
          order by r.event_id, stale.running_since desc, stale.worker_id),
       held as materialized (
         select q.event_id, q.run, q.crashes + 1 as crashes, listed.attempt, listed.worker_id, q.lane_id, q.number, q.place,
                q.policy
           from listed
           join {schema}.queue q on q.event_id = listed.event_id and q.attempts = listed.attempt - 1
          where q.parked is null
          order by q.event_id
            for update of q skip locked),
       counted as (
         update {schema}.queue q
            set crashes = held.crashes
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
         select event_id, run, 'dead', attempt - 1, 0, 'crashed', clock_timestamp(), lane_id, place
           from held
          where crashes >= $2::integer),
       noted as (
         insert into {schema}.attempts (event_id, run, attempt, reason, message, duration_ms, failed_at)
         select event_id, run, attempt, 'crashed', 'The process died while the handler ran', 0, clock_timestamp()
           from held),
       remaining as materialized (
         select listed.worker_id, listed.slot,
                array_agg(listed.event_id) as running, array_agg(listed.attempt) as running_attempts
           from listed
           join {schema}.queue q on q.event_id = listed.event_id and q.attempts = listed.attempt - 1
          where q.parked is null
            and listed.event_id not in (select event_id from held)
          group by listed.worker_id, listed.slot),
       kept as (
         update {schema}.workers w
            set running = remaining.running, running_attempts = remaining.running_attempts
           from remaining
          where w.worker_id = remaining.worker_id and w.slot = remaining.slot),
       removed as (
         delete from {schema}.workers w
          using stale
          where w.worker_id = stale.worker_id and w.slot = stale.slot
            and not exists (select
                              from remaining
                             where remaining.worker_id = stale.worker_id and remaining.slot = stale.slot))
  select held.event_id, held.run, held.attempt, held.crashes, held.crashes >= $2::integer as is_dead,
         held.lane_id, held.number, held.place, held.policy, held.worker_id, e.source, e.type, encode(e.event_key, 'hex') as event_key
    from held
    left join {schema}.events e on e.id = held.event_id`

// A commit fence that is locked belongs to a transaction that is still open; it goes another time.
const REMOVE_FENCES = `
  with idle as materialized (
         select worker_id, slot
           from {schema}.commit_fences g
          where not exists (select from {schema}.workers w where w.worker_id = g.worker_id)
            for update skip locked)
  delete from {schema}.commit_fences g
   using idle
   where g.worker_id = idle.worker_id and g.slot = idle.slot`

/** Runs inside a transaction of the caller. */
export async function sweepWorkers(
  connection: Connection,
  { dead, crashesMax }: { dead: readonly string[]; crashesMax: number },
): Promise<readonly SweptEvent[]> {
  const { rows } = await connection.query(SWEEP, [textArray(dead), crashesMax])
  await connection.query(REMOVE_FENCES)
  await leaveLanes(connection, rows.flatMap(leftByDeath))
  return rows.map(asSweptEvent)
}

/** Those that died have left their lanes. */
export function leftByDeath(row: TextRow): readonly LeftLane[] {
  return row['is_dead'] === 't' ? [{ state: 'dead', row }] : []
}

export function asSweptEvent(row: TextRow): SweptEvent {
  return {
    eventId: row['event_id'] ?? '',
    source: row['source'] ?? '',
    type: row['type'] ?? '',
    key: Buffer.from(row['event_key'] ?? '', 'hex').toString(),
    attempt: Number(row['attempt']),
    crashes: Number(row['crashes']),
    dead: row['is_dead'] === 't',
    workerId: row['worker_id'] ?? '',
  }
}
