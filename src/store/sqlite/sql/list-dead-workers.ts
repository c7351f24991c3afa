import type { Connection } from '../connection.ts'
import { isGone } from '../process-identity.ts'
import type { StandingHearts } from '../standing-hearts.ts'

export interface SweepOptions {
  readonly deadAfterMs: number
  readonly crashesMax: number
  readonly me: string
}

export interface Sweep extends SweepOptions {
  readonly hearts: StandingHearts
}

// 1 how long a heart may stand still  2 the id of the worker that sweeps
//
// The heart of a worker is that of its liveliest slot.
const LIST_OTHERS = `
  select worker_id, hostname, pid, max(heart_at) as heart_at,
         max(heart_at) <= cast(unixepoch('subsec') * 1000 as integer) - ? as stands_still
    from {prefix}workers
   where worker_id <> ?
   group by worker_id
   order by worker_id`

type WorkerRow = {
  worker_id: string
  hostname: string
  pid: number
  heart_at: number
  stands_still: number
}

/**
 * The workers whose heart has stopped for `deadAfterMs`, or whose process is gone from this machine.
 *
 * One that was only kept from beating, by a transaction that had the lock, is not among them.
 */
export function listDeadWorkers(
  connection: Connection,
  { deadAfterMs, me, hearts }: Sweep,
): ReadonlySet<string> {
  const others = connection.all<WorkerRow>(LIST_OTHERS, [deadAfterMs, me])
  const standing = others.filter(({ stands_still }) => stands_still === 1)
  const stopped = hearts.findStopped(
    standing.map(({ worker_id, heart_at }) => ({ workerId: worker_id, heartAt: heart_at })),
    deadAfterMs,
  )
  const dead = others.filter((worker) => stopped.has(worker.worker_id) || isGone(worker))
  return new Set(dead.map(({ worker_id }) => worker_id))
}
