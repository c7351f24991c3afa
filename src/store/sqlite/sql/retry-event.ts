import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const DELETE_OUTCOME = `
  delete from {prefix}outcomes
   where event_id = ?
     and state = 'dead'
  returning run`

// 1 event id  2 run
const INSERT_QUEUE = `
  insert into {prefix}queue (event_id, run, run_at)
  values (?, ?, cast(unixepoch('subsec') * 1000 as integer))
      on conflict do nothing`

/**
 * Queues a dead event again with its attempts and crashes at zero; `false` when it is not dead.
 * Its failed attempts stay on record. Inside a write transaction.
 */
export function retryEvent(connection: Connection, eventId: EventId): boolean {
  const [outcome] = connection.all<{ run: number }>(DELETE_OUTCOME, [eventId])
  if (outcome === undefined) return false
  connection.run(INSERT_QUEUE, [eventId, outcome.run])
  return true
}
