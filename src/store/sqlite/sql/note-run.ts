import type { PruneRun } from '../../contract/retention.ts'
import type { Connection } from '../connection.ts'

// 1 the run, as JSON
const NOTE = `
  update {prefix}meta
     set value = ?
   where name = 'prune'`

/** Writes down that a run of the pruner has ended. Inside a write transaction. */
export function noteRun(connection: Connection, run: PruneRun): void {
  connection.run(NOTE, [JSON.stringify(run)])
}
