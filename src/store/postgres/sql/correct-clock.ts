/**
 * Puts right what would wait until a clock that was set back has caught up.
 *
 * The time is written down once a second (`keep-clock.ts`), so that it is known by how much the clock was set
 * back, also to a fleet that was down meanwhile. Everything that waits is moved by that much, and waits as long as
 * it would have: events for their next attempt or for what is missing in their lane, leases that their workers do not
 * know of, messages. Since when a call or a message is in doubt is moved as well, or a key would seem to be younger
 * than it is.
 *
 * Once for each time: the row with the time is locked, and has the new time afterwards. An event that is locked is
 * at work or about to be, and is left alone.
 *
 * @module
 */

import type { Connection } from '../connection.ts'
import type { TransactionSettings } from '../transaction.ts'

/** Clocks are set back by this much in ordinary keeping of time. */
export const TOLERANCE_MS = 1_000

/** A long queue is moved whole. */
export const CORRECT_CLOCK: TransactionSettings = {
  statementTimeoutMs: 60_000,
  lockTimeoutMs: 5_000,
}

const LOCK = `
  select value
    from {schema}.meta
   where name = 'clock'
     for update skip locked`

// $1 the latest time that was written down, in ms
//
// A message that is leased has its lease's end in `send_at`: one that was claimed since has it right.
const CORRECT = `
  with clock as materialized (
         select t.now, ($1::float8 - extract(epoch from t.now) * 1000) * interval '1 millisecond' as back
           from (select clock_timestamp() as now) t),
       held as materialized (
         select q.event_id, q.run
           from {schema}.queue q
          where (q.parked is null or q.parked = 'waiting')
            and (q.run_at > (select now from clock) or q.lease_until > (select now from clock)
                 or q.wait_until > (select now from clock))
            for update skip locked),
       events as (
         update {schema}.queue q
            set run_at = case when q.run_at > clock.now then q.run_at - clock.back else q.run_at end,
                lease_until = case when q.lease_until > clock.now then q.lease_until - clock.back
                                   else q.lease_until end,
                wait_until = case when q.wait_until > clock.now then q.wait_until - clock.back
                                  else q.wait_until end
           from held, clock
          where q.event_id = held.event_id and q.run = held.run),
       calls as (
         update {schema}.steps s
            set started_at = s.started_at - clock.back
           from {schema}.queue q, clock
          where q.leasable and s.event_id = q.event_id and s.run = q.run and s.state = 'started'),
       messages as (
         update {schema}.message_queue q
            set send_at = case when q.send_at > clock.now and coalesce(q.claimed_at > clock.now, true)
                               then q.send_at - clock.back else q.send_at end,
                claimed_at = case when q.claimed_at > clock.now then q.claimed_at - clock.back
                                  else q.claimed_at end,
                uncertain_since = q.uncertain_since - clock.back
           from clock
          where q.send_at > clock.now or q.uncertain_since is not null),
       written as (
         update {schema}.meta
            set value = (extract(epoch from clock.now) * 1000)::bigint::text
           from clock
          where name = 'clock')
  select (extract(epoch from back) * 1000)::bigint as back_ms
    from clock`

/** By how much it was set back, in ms; 0 when another process is about to correct it. Runs inside a transaction of the caller. */
export async function correctClock(connection: Connection): Promise<number> {
  const { rows } = await connection.query<'value'>(LOCK)
  const last = rows[0]?.value
  if (last == null || !(await isBack(connection, last))) return 0
  const corrected = await connection.query<'back_ms'>(CORRECT, [last])
  return Number(corrected.rows[0]?.back_ms)
}

// $1 the latest time that was written down, in ms  $2 tolerance in ms
const IS_BACK = `
  select $1::float8 > extract(epoch from clock_timestamp()) * 1000 + $2::float8 as is_back`

/** Asked again when the lock is held: another process may have corrected it. */
async function isBack(connection: Connection, last: string): Promise<boolean> {
  const { rows } = await connection.query<'is_back'>(IS_BACK, [last, TOLERANCE_MS])
  return rows[0]?.is_back === 't'
}
