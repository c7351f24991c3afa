import type { Heart } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'
import { isGone } from '../process-identity.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const LIST_RECORDED = `
  select worker_id, hostname, pid, max(beat_at) as beat, ${NOW} - max(beat_at) as still_ms
    from {prefix}workers
   group by worker_id`

const LIST_UNRECORDED = `
  select distinct q.lease_worker as worker_id
    from {prefix}queue q
   where q.lease_token is not null
     and not exists (select 1 from {prefix}workers w where w.worker_id = q.lease_worker)`

/** The hearts of all workers that have a record or a lease. A worker's heart is that of its liveliest slot. */
export function listHearts(connection: Connection): Heart[] {
  const recorded = connection.all<RecordedRow>(LIST_RECORDED)
  const unrecorded = connection.all<{ worker_id: string }>(LIST_UNRECORDED)
  return [
    ...recorded.map(({ worker_id, hostname, pid, beat, still_ms }) => ({
      workerId: worker_id,
      beat: String(beat),
      stillMs: still_ms,
      isGone: isGone({ hostname, pid }),
    })),
    ...unrecorded.map(({ worker_id }) => ({
      workerId: worker_id,
      beat: '',
      stillMs: 0,
      isGone: true,
    })),
  ]
}

/** The workers among these whose heart still stands where it stood. Inside a write transaction. */
export function findStopped(connection: Connection, stopped: readonly Heart[]): readonly string[] {
  const now = new Map(listHearts(connection).map(({ workerId, beat }) => [workerId, beat]))
  return stopped
    .filter(({ workerId, beat }) => now.get(workerId) === beat)
    .map(({ workerId }) => workerId)
}

type RecordedRow = {
  worker_id: string
  hostname: string
  pid: number
  beat: number
  still_ms: number
}
