import type { SweptEvent } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'
import { endCrashed } from './end-crashed.ts'
import { insertFailure } from './settle.ts'
import { nameEvent } from './sweep-workers.ts'
import type { SweepOptions } from './sweep-workers.ts'

// 1 dead workers as JSON
const LIST_LEASED = `
  select event_id, run, attempts, crashes, lease_worker
    from {prefix}queue
   where lease_token is not null
     and lease_worker in (select value from json_each(?))
   order by event_id`

// 1 crashes  2 event id
const FREE = `
  update {prefix}queue
     set crashes = ?,
         lease_token = null,
         lease_worker = null,
         lease_until = null,
         run_at = cast(unixepoch('subsec') * 1000 as integer)
   where event_id = ?`

type LeasedRow = {
  event_id: string
  run: number
  attempts: number
  crashes: number
  lease_worker: string
}

/**
 * Takes the leases of dead workers and counts a crash on each of their events. Inside a write transaction, so
 * that no lease ends or is taken meanwhile, and before their records go.
 */
export function sweepLeases(
  connection: Connection,
  { dead, crashesMax }: SweepOptions,
): SweptEvent[] {
  return connection.all<LeasedRow>(LIST_LEASED, [JSON.stringify(dead)]).map((row) => {
    const { event_id: eventId, run, attempts, lease_worker: workerId } = row
    const crashes = row.crashes + 1
    const isDead = crashes >= crashesMax
    if (isDead) endCrashed(connection, { eventId, run, attempts })
    else connection.run(FREE, [crashes, eventId])
    const message = 'The worker died, or stood still, while it had the lease'
    insertFailure(
      connection,
      { eventId, run },
      { attempt: attempts, reason: 'crashed', message, durationMs: 0 },
    )
    const named = nameEvent(connection, eventId)
    return { eventId, ...named, attempt: attempts, crashes, dead: isDead, workerId }
  })
}
