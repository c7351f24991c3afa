import type { Settlement } from '../../../model/outcome.ts'
import type { WorkerSlot } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'
import { trySettle } from './settle.ts'

// 1 event id
const IS_CLAIMABLE = `
  select 1 as found
    from {prefix}queue
   where event_id = ?
     and parked is null`

// 1 event id  2 attempt
const LIST_RUNNING = `
  select w.worker_id, w.slot
    from {prefix}workers w, json_each(w.running) r
   where r.value ->> 'eventId' = ?
     and r.value ->> 'attempt' = ?`

/**
 * Writes a failed attempt from outside its lost transaction, unless the event has moved on. Says whether it wrote.
 *
 * An event that a slot is listed as running is left to that slot, unless the list is known to be stale: that
 * of the slot that lost the event may be.
 */
export function settleLost(
  connection: Connection,
  settlement: Extract<Settlement, { state: 'ready' | 'dead' }>,
  isStale: (slot: WorkerSlot) => boolean,
): boolean {
  const { eventId, attempt } = settlement
  if (connection.all(IS_CLAIMABLE, [eventId]).length === 0) return false
  const running = connection.all<{ worker_id: string; slot: number }>(LIST_RUNNING, [
    eventId,
    attempt,
  ])
  if (running.some(({ worker_id: workerId, slot }) => !isStale({ workerId, slot }))) return false
  return trySettle(connection, settlement)
}
