import type { LeasedSettlement } from '../../contract/steps.ts'
import type { LoopBreaks } from '../../../flow/loop-breaks.ts'
import type { Connection } from '../connection.ts'
import { freeLanes, leaveLane, mendLanes, PLACE_COLUMNS } from './mend-lanes.ts'
import type { LeftLane } from './mend-lanes.ts'
import { insertFailure, insertOutcome } from './settle.ts'
import { holdsLease } from './write-calls.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 event id  2 run
const DEQUEUE = `
  delete from {prefix}queue
   where event_id = ?
     and run = ?
  returning ${PLACE_COLUMNS}`

// 1 attempts to take back  2 leasable  3 delay in ms  4 parked  5 reason  6 event id  7 run
const KEEP = `
  update {prefix}queue
     set lease_token = null,
         lease_worker = null,
         lease_until = null,
         attempts = attempts - ?,
         leasable = ?,
         run_at = ${NOW} + ?,
         parked = ?,
         parked_reason = ?
   where event_id = ?
     and run = ?
  returning lane_id`

/** Where the latest goes first, one that failed lets others go before it. */
function keep(connection: Connection, params: readonly unknown[]): void {
  const [kept] = connection.all<{ lane_id: string | null }>(KEEP, params)
  if (kept !== undefined && kept.lane_id !== null) mendLanes(connection, [kept.lane_id])
}

/** Whether each was written, in their order. Inside a write transaction. */
export async function settleLeased(
  connection: Connection,
  breaks: LoopBreaks,
  settlements: readonly LeasedSettlement[],
): Promise<boolean[]> {
  return breaks.each(settlements, ({ lease, settlement }) => {
    if (!holdsLease(connection, lease)) return false
    const { eventId, run } = lease
    switch (settlement.state) {
      case 'done':
      case 'skipped':
      case 'dead': {
        const [gone] = connection.all<LeftLane>(DEQUEUE, [eventId, run])
        insertOutcome(connection, settlement, gone)
        if (gone !== undefined) leaveLane(connection, settlement, gone)
        if (settlement.state === 'done') freeLanes(connection, eventId, settlement.frees)
        break
      }
      case 'ready':
        keep(connection, [0, 1, Math.ceil(settlement.retryInMs), null, null, eventId, run])
        break
      case 'given-back':
        keep(connection, [1, 1, 0, null, null, eventId, run])
        break
      case 'regrouped':
        keep(connection, [1, 0, 0, null, null, eventId, run])
        break
      case 'unhandled':
        keep(connection, [1, 0, 0, 'unhandled', 'no handler for its type', eventId, run])
        break
    }
    if ('failure' in settlement) insertFailure(connection, lease, settlement.failure)
    return true
  })
}
