import type { Connection } from '../connection.ts'
import type { ProcessIdentity } from '../process-identity.ts'

// 1 worker id  2 slot  3 hostname  4 pid
const UPSERT = `
  insert into {prefix}workers (worker_id, slot, hostname, pid, heart_at)
  values (?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer))
      on conflict (worker_id, slot) do update
     set hostname = excluded.hostname,
         pid = excluded.pid,
         heart_at = excluded.heart_at`

/** Moves the heart of every slot of a worker, and makes the records that are missing. */
export function beatWorker(
  connection: Connection,
  { workerId, slots, process }: { workerId: string; slots: number; process: ProcessIdentity },
): void {
  for (let slot = 0; slot < slots; slot += 1) {
    connection.run(UPSERT, [workerId, slot, process.hostname, process.pid])
  }
}
