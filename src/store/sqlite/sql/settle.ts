/**
 * Writes what became of an event, in the transaction in which its handlers ran.
 *
 * The queue row is found by event, run and attempt, and must be there: if it is not, this is not the
 * transaction that claimed it, and nothing of it may be kept.
 *
 * @module
 */

import { HookonceError } from '../../../errors.ts'
import { ranOf } from '../../../model/outcome.ts'
import type { FailedAttempt, Settlement } from '../../../model/outcome.ts'
import { agoMs } from '../../shared/ago-ms.ts'
import { wholeMs } from '../../shared/whole-ms.ts'
import type { Connection } from '../connection.ts'
import { freeLanes, leaveLane, mendLanes, PLACE_COLUMNS } from './mend-lanes.ts'
import type { LeftLane } from './mend-lanes.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 event id  2 run  3 attempts
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?
     and run = ?
     and attempts = ?
  returning ${PLACE_COLUMNS}`

// 1 attempts  2 delay in ms  3 event id  4 run  5 attempts before
const REQUEUE = `
  update {prefix}queue
     set attempts = ?,
         run_at = ${NOW} + ?
   where event_id = ?
     and run = ?
     and attempts = ?
  returning lane_id`

// 1 event id  2 run
const PARK = `
  update {prefix}queue
     set parked = 'unhandled',
         parked_reason = 'no handler for its type'
   where event_id = ?
     and run = ?`

// 1 event id  2 run  3 state  4 attempts  5 started ago in ms  6 duration  7 reason  8 result  9 lane  10 place
const INSERT_OUTCOME = `
  insert into {prefix}outcomes
         (event_id, run, state, attempts, started_at, duration_ms, reason, result, settled_at, lane_id, place)
  values (?, ?, ?, ?, ${NOW} - ?, ?, ?, ?, ${NOW}, ?, ?)`

// 1 event id  2 run  3 attempt  4 reason  5 message  6 duration  7 handler  8 stack  9 cause
// 10 started ago in ms  11 failed ago in ms
const INSERT_ATTEMPT = `
  insert into {prefix}attempts
         (event_id, run, attempt, reason, message, duration_ms, handler, stack, cause, started_at, failed_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ${NOW} - ?, ${NOW} - ?)`

export function settle(connection: Connection, settlement: Settlement): void {
  if (trySettle(connection, settlement)) return
  throw new HookonceError(
    'TRANSACTION_ENDED',
    `Event ${settlement.eventId} is not in the queue as this transaction claimed it`,
  )
}

/** The same, but an event that has moved on is left alone: then nothing is written and it returns `false`. */
export function trySettle(connection: Connection, settlement: Settlement): boolean {
  const { eventId, run } = settlement
  if (settlement.state === 'unhandled') return connection.run(PARK, [eventId, run]) === 1

  const before = settlement.attempt - 1
  if (settlement.state === 'ready') {
    const params = [settlement.attempt, Math.ceil(settlement.retryInMs), eventId, run, before]
    const [kept] = connection.all<{ lane_id: string | null }>(REQUEUE, params)
    if (kept === undefined) return false
    insertFailure(connection, settlement, settlement.failure)
    // Where the latest goes first, one that failed lets others go before it.
    if (kept.lane_id !== null) mendLanes(connection, [kept.lane_id])
    return true
  }
  const [gone] = connection.all<LeftLane>(DEQUEUE, [eventId, run, before])
  if (gone === undefined) return false
  if (settlement.state === 'dead') insertFailure(connection, settlement, settlement.failure)
  insertOutcome(connection, settlement, gone)
  leaveLane(connection, settlement, gone)
  if (settlement.state === 'done') freeLanes(connection, eventId, settlement.frees)
  return true
}

export function insertOutcome(
  connection: Connection,
  settlement: Extract<Settlement, { state: 'done' | 'skipped' | 'dead' }>,
  left?: LeftLane,
): void {
  const { eventId, run, state, attempt } = settlement
  const startedAgoMs = agoMs(ranOf(settlement)?.startedMs)
  const durationMs = wholeMs(settlement.durationMs)
  const reason = settlement.state === 'done' ? null : settlement.reason
  const result = settlement.state === 'done' ? settlement.result : null
  const values = [state, attempt, startedAgoMs, durationMs, reason, result]
  const at = [left?.lane_id ?? null, left?.place ?? null]
  connection.run(INSERT_OUTCOME, [eventId, run, ...values, ...at])
}

export function insertFailure(
  connection: Connection,
  { eventId, run }: { eventId: string; run: number },
  { attempt, reason, message, durationMs, ran, handler, stack, cause }: FailedAttempt,
): void {
  const about = [reason, message, wholeMs(durationMs), handler, stack, cause]
  const ago = [agoMs(ran?.startedMs), agoMs(ran?.endedMs) ?? 0]
  connection.run(INSERT_ATTEMPT, [eventId, run, attempt, ...about, ...ago])
}
