import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event id
const DELETE_OUTCOME = `
  delete from {prefix}outcomes
   where event_id = ?
     and state = 'dead'
  returning run`

// 1 run  2 event id
const INSERT_QUEUE = `
  insert into {prefix}queue (event_id, topic, run, run_at)
  select id, topic, ?, cast(unixepoch('subsec') * 1000 as integer)
    from {prefix}events
   where id = ?
      on conflict do nothing`

/**
 * Queues a dead event again with its attempts and crashes at zero; `false` when it is not dead.
 * Its failed attempts stay on record. Inside a write transaction.
 */
export function retryEvent(connection: Connection, eventId: EventId): boolean {
  const [outcome] = connection.all<{ run: number }>(DELETE_OUTCOME, [eventId])
  if (outcome === undefined) return false
  connection.run(INSERT_QUEUE, [outcome.run, eventId])
  return true
}
