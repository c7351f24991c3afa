import type { Settlement } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { trySettle } from './settle.ts'

// 1 event id
const IS_CLAIMABLE = `
  select 1 as found
    from {prefix}queue
   where event_id = ?
     and parked is null`

/**
 * Writes a failed attempt from outside its lost transaction, unless the event has moved on.
 *
 * Whoever runs this has the write lock, so no other worker is running the event; one that has run
 * it meanwhile has changed its attempts. Says whether it wrote.
 */
export function settleLost(
  connection: Connection,
  settlement: Extract<Settlement, { state: 'ready' | 'dead' }>,
): boolean {
  if (connection.all(IS_CLAIMABLE, [settlement.eventId]).length === 0) return false
  return trySettle(connection, settlement)
}
