import type { PruneRun } from '../../contract/retention.ts'
import type { Connection } from '../connection.ts'

// $1 the run, as JSON
const NOTE = `
  update {schema}.meta
     set value = $1
   where name = 'prune'`

/** Writes down that a run of the pruner has ended. */
export async function noteRun(connection: Connection, run: PruneRun): Promise<void> {
  await connection.query(NOTE, [JSON.stringify(run)])
}
