import type { Connection } from '../connection.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 tolerance in ms
const BEATS_IN_THE_FUTURE = `
  select 1 as found
    from {prefix}workers
   where heart_at > ${NOW} + ?
   limit 1`

// 1 tolerance in ms
const CORRECT_HEARTS = `
  update {prefix}workers
     set heart_at = ${NOW}
   where heart_at > ${NOW} + ?`

// What is due later because it failed keeps its time: that is at most the wait it would have had anyway.
const MAKE_DUE = `
  update {prefix}queue
     set run_at = ${NOW}
   where parked is null
     and attempts = 0
     and run_at > ${NOW}`

/** Whether the clock was set back, asked without the write lock. */
export function wentBack(connection: Connection, toleranceMs: number): boolean {
  return connection.all(BEATS_IN_THE_FUTURE, [toleranceMs]).length > 0
}

/** Inside a write transaction. */
export function correctClock(connection: Connection, toleranceMs: number): boolean {
  if (connection.run(CORRECT_HEARTS, [toleranceMs]) === 0) return false
  connection.run(MAKE_DUE)
  return true
}
