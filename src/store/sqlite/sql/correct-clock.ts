/**
 * Sees that the clock was set back, and puts right what would wait until it has caught up. What is seen and
 * what is corrected is the same as on PostgreSQL, and said there.
 *
 * @module
 */

import type { Connection } from '../connection.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 tolerance in ms
const IN_THE_FUTURE = `
  select exists (select 1 from {prefix}workers where heart_at > ${NOW} + ?1)
      or exists (select 1
                   from {prefix}queue
                  where parked is null and attempts = 0 and crashes = 0 and leasable = 0
                    and run_at > ${NOW} + ?1) as is_seen`

// 1 tolerance in ms
const CORRECT_HEARTS = `
  update {prefix}workers
     set heart_at = ${NOW}
   where heart_at > ${NOW} + ?`

const MAKE_DUE = `
  update {prefix}queue
     set run_at = ${NOW}
   where parked is null
     and attempts = 0
     and run_at > ${NOW}`

const MOVE_MESSAGES = `
  update {prefix}message_queue as q
     set send_at = ${NOW} + q.send_at - coalesce(q.claimed_at, m.created_at),
         claimed_at = case when q.claimed_at is not null then ${NOW} end
    from {prefix}messages m
   where m.id = q.message_id
     and (q.attempts = 0 or q.lease_token is not null)
     and coalesce(q.claimed_at, m.created_at) > ${NOW}`

/** Whether the clock was set back, asked without the write lock. */
export function wentBack(connection: Connection, toleranceMs: number): boolean {
  const [row] = connection.all<{ is_seen: number }>(IN_THE_FUTURE, [toleranceMs])
  return row?.is_seen === 1
}

/** Inside a write transaction. */
export function correctClock(connection: Connection, toleranceMs: number): boolean {
  if (!wentBack(connection, toleranceMs)) return false
  connection.run(CORRECT_HEARTS, [toleranceMs])
  connection.run(MAKE_DUE)
  connection.run(MOVE_MESSAGES)
  return true
}
