import type { Connection } from '../connection.ts'

// $1 worker
const REMOVE = `
  with idle as materialized (
         select worker_id, slot
           from {schema}.commit_fences
          where worker_id = $1
            for update skip locked),
       unfenced as (
         delete from {schema}.commit_fences g
          using idle
          where g.worker_id = idle.worker_id and g.slot = idle.slot)
  delete from {schema}.workers
   where worker_id = $1`

/** Removes the records of a worker that has stopped in order. */
export async function removeWorker(connection: Connection, workerId: string): Promise<void> {
  await connection.query(REMOVE, [workerId])
}
