/**
 * Puts right what would wait until a clock that was set back has caught up. What is moved is the same as on
 * PostgreSQL, and said there. But nothing is left to be moved later: the transaction that corrects is the only one
 * that writes.
 *
 * @module
 */

import type { Connection } from '../connection.ts'

/** Clocks are set back by this much in ordinary keeping of time. */
export const TOLERANCE_MS = 1_000

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const HOW_FAR = `
  select ${NOW} as now, cast(value as integer) - ${NOW} as back
    from {prefix}meta
   where name = 'clock'`

// 1 now  2 by how much it went back
const MOVE_EVENTS = `
  update {prefix}queue
     set run_at = case when run_at > ?1 then run_at - ?2 else run_at end,
         lease_until = case when lease_until > ?1 then lease_until - ?2 else lease_until end,
         wait_until = case when wait_until > ?1 then wait_until - ?2 else wait_until end
   where (parked is null or parked = 'waiting')
     and (run_at > ?1 or lease_until > ?1 or wait_until > ?1)`

// 1 by how much it went back
const MOVE_CALLS = `
  update {prefix}steps
     set started_at = started_at - ?
   where state = 'started'
     and event_id in (select event_id from {prefix}queue where leasable = 1)`

// 1 now  2 by how much it went back
const MOVE_MESSAGES = `
  update {prefix}message_queue
     set send_at = case when send_at > ?1 and coalesce(claimed_at > ?1, 1) then send_at - ?2 else send_at end,
         claimed_at = case when claimed_at > ?1 then claimed_at - ?2 else claimed_at end,
         uncertain_since = uncertain_since - ?2
   where send_at > ?1
      or uncertain_since is not null`

// 1 now
const WRITE = `
  update {prefix}meta
     set value = cast(? as text)
   where name = 'clock'`

/** By how much it was set back, in ms; 0 when another process has corrected it. Inside a write transaction. */
export function correctClock(connection: Connection): number {
  const [row] = connection.all<{ now: number; back: number }>(HOW_FAR)
  if (row === undefined || row.back <= TOLERANCE_MS) return 0
  const { now, back } = row
  connection.run(MOVE_EVENTS, [now, back])
  connection.run(MOVE_CALLS, [back])
  connection.run(MOVE_MESSAGES, [now, back])
  connection.run(WRITE, [now])
  return back
}
