import type { WorkerBeat } from '../../contract/store.ts'
import type { Connection } from '../connection.ts'
import type { ProcessIdentity } from '../process-identity.ts'

// 1 worker id  2 slot  3 hostname  4 pid  5 what the worker has handlers for: the first slot says it for all
const UPSERT = `
  insert into {prefix}workers (worker_id, slot, hostname, pid, beat_at, handles)
  values (?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer), ?)
      on conflict (worker_id, slot) do update
     set hostname = excluded.hostname,
         pid = excluded.pid,
         beat_at = excluded.beat_at,
         handles = excluded.handles`

/** Moves the heart of every slot of a worker, makes the records that are missing, and says what it handles. */
export function beatWorker(
  connection: Connection,
  { workerId, slots, handles }: WorkerBeat,
  process: ProcessIdentity,
): void {
  for (let slot = 0; slot < slots; slot += 1) {
    const handled = JSON.stringify(slot === 0 ? handles : [])
    connection.run(UPSERT, [workerId, slot, process.hostname, process.pid, handled])
  }
}
