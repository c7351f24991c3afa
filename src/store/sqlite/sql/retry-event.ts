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

// What died because something was missing in its lane runs when it has waited once more, as on PostgreSQL.
//
// 1 event id  2 run
const KEEP_WISH = `
  update {prefix}queue
     set policy = (select case a.reason when 'order' then 'run' end
                     from {prefix}attempts a
                    where a.event_id = ?1 and a.run = ?2
                    order by a.failed_at desc, a.rowid desc
                    limit 1)
   where event_id = ?1
     and run = ?2`

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
  if (state !== 'dead') connection.run(MAKE_DUE, [eventId, run])
  else if (reviveEvent(connection, eventId)) connection.run(KEEP_WISH, [eventId, run])
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
