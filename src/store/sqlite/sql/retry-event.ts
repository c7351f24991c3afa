import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 event id
const DELETE_DEAD = `
  delete from {prefix}outcomes
   where event_id = ?
     and state = 'dead'
  returning run`

// 1 run  2 event id
const INSERT_QUEUE = `
  insert into {prefix}queue (event_id, topic, run, run_at)
  select id, topic, ?, ${NOW}
    from {prefix}events
   where id = ?
      on conflict do nothing`

// 1 event id  2 run
const MAKE_DUE = `
  update {prefix}queue
     set run_at = ${NOW}
   where event_id = ?
     and run = ?`

/** Queues a dead event again, with its attempts at zero; one that is queued is due now. Inside a write transaction. */
export function retryEvent(
  connection: Connection,
  eventId: EventId,
  { state, run }: { readonly state: string; readonly run: number },
): void {
  if (state === 'dead') reviveEvent(connection, eventId)
  else connection.run(MAKE_DUE, [eventId, run])
}

/**
 * Queues a dead event again with its attempts and crashes at zero; `false` when it is not dead.
 * Its failed attempts stay on record. Inside a write transaction.
 */
export function reviveEvent(connection: Connection, eventId: EventId): boolean {
  const [outcome] = connection.all<{ run: number }>(DELETE_DEAD, [eventId])
  if (outcome === undefined) return false
  connection.run(INSERT_QUEUE, [outcome.run, eventId])
  return true
}
