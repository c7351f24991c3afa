import type { Connection } from '../connection.ts'

// 1 worker id
const DELETE = `
  delete from {prefix}workers
   where worker_id = ?`

export function removeWorker(connection: Connection, workerId: string): void {
  connection.run(DELETE, [workerId])
}
