import type { RunningEvent, WorkerSlot } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'
import type { ProcessIdentity } from '../process-identity.ts'

// 1 worker id  2 slot  3 hostname  4 pid  5 running
const UPSERT = `
  insert into {prefix}workers (worker_id, slot, hostname, pid, beat_at, running_since, running)
  values (?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer), cast(unixepoch('subsec') * 1000 as integer), ?)
      on conflict (worker_id, slot) do update
     set hostname = excluded.hostname,
         pid = excluded.pid,
         beat_at = excluded.beat_at,
         running_since = excluded.running_since,
         running = excluded.running`

/** Writes which events a slot is about to run. Doing so is a sign of life as well. */
export function announce(
  connection: Connection,
  {
    slot,
    running,
    process,
  }: { slot: WorkerSlot; running: readonly RunningEvent[]; process: ProcessIdentity },
): void {
  const list = JSON.stringify(running.map(({ eventId, attempt }) => ({ eventId, attempt })))
  connection.run(UPSERT, [slot.workerId, slot.slot, process.hostname, process.pid, list])
}
