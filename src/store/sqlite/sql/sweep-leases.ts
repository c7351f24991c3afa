import type { SweptEvent } from '../../contract.ts'
import type { Connection } from '../connection.ts'
import { endCrashed } from './end-crashed.ts'
import { insertFailure } from './settle.ts'
import { nameEvent } from './sweep-workers.ts'

// 1 the id of the worker that sweeps
const LIST_LEASED = `
  select q.event_id, q.run, q.attempts, q.crashes, q.lease_worker,
         exists (select 1 from {prefix}workers w where w.worker_id = q.lease_worker) as is_known
    from {prefix}queue q
   where q.lease_token is not null
     and q.lease_worker <> ?`

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
  is_known: number
}

export interface LeaseSweep {
  /** The id of the worker that sweeps. */
  readonly me: string
  /** The workers that are dead. So is one that has no record any more. */
  readonly dead: ReadonlySet<string>
}

/**
 * Takes the leases of dead workers and counts a crash on each of their events. Inside a write transaction, so
 * that no worker ends or takes a lease meanwhile, and before the records of the dead go.
 */
export function sweepLeases(
  connection: Connection,
  { crashesMax, ...sweep }: LeaseSweep & { readonly crashesMax: number },
): SweptEvent[] {
  return listOrphans(connection, sweep).map((row) => {
    const { event_id: eventId, run, attempts, lease_worker: workerId } = row
    const crashes = row.crashes + 1
    const dead = crashes >= crashesMax
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
export function hasOrphans(connection: Connection, sweep: LeaseSweep): boolean {
  return listOrphans(connection, sweep).length > 0
}

function listOrphans(connection: Connection, { me, dead }: LeaseSweep): LeasedRow[] {
  return connection
    .all<LeasedRow>(LIST_LEASED, [me])
    .filter(({ lease_worker, is_known }) => is_known === 0 || dead.has(lease_worker))
}
