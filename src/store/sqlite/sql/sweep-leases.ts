import type { SweptEvent } from '../../contract.ts'
import type { Connection } from '../connection.ts'
import { isGone } from '../process-identity.ts'
import { endCrashed } from './end-crashed.ts'
import { insertFailure } from './settle.ts'
import { nameEvent } from './sweep-workers.ts'
import type { SweepOptions } from './sweep-workers.ts'

// 1 how long a heart may stand still  2 the id of the worker that sweeps
//
// The heart of a worker is that of its liveliest slot.
const LIST_LEASED = `
  select q.event_id, q.run, q.attempts, q.crashes, q.lease_worker, w.hostname, w.pid,
         coalesce(max(w.heart_at), 0) <= cast(unixepoch('subsec') * 1000 as integer) - ? as stopped
    from {prefix}queue q
    left join {prefix}workers w on w.worker_id = q.lease_worker
   where q.lease_token is not null
     and q.lease_worker <> ?
   group by q.event_id`

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
  hostname: string | null
  pid: number | null
  stopped: number
}

/**
 * Takes the leases of dead workers and counts a crash on each of their events. Inside a write transaction, so
 * that nobody ends or takes a lease meanwhile, and before their records go.
 */
export function sweepLeases(connection: Connection, options: SweepOptions): SweptEvent[] {
  return listOrphans(connection, options).map((row) => {
    const { event_id: eventId, run, attempts, lease_worker: workerId } = row
    const crashes = row.crashes + 1
    const dead = crashes >= options.crashesMax
    if (dead) endCrashed(connection, { eventId, run, attempts })
    else connection.run(FREE, [crashes, eventId])
    const message = 'The worker died, or stood still, while it had the lease'
    insertFailure(
      connection,
      { eventId, run },
      { attempt: attempts, reason: 'crashed', message, durationMs: 0 },
    )
    const named = nameEvent(connection, eventId)
    return { eventId, ...named, attempt: attempts, crashes, dead, workerId }
  })
}

/** Whether there is anything to sweep, asked without the write lock. */
export function hasOrphans(connection: Connection, options: SweepOptions): boolean {
  return listOrphans(connection, options).length > 0
}

function listOrphans(connection: Connection, { deadAfterMs, me }: SweepOptions): LeasedRow[] {
  return connection
    .all<LeasedRow>(LIST_LEASED, [deadAfterMs, me])
    .filter(
      ({ stopped, hostname, pid }) =>
        stopped === 1 || (hostname !== null && pid !== null && isGone({ hostname, pid })),
    )
}
