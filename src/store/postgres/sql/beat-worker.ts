import type { WorkerBeat } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'

// $1 worker  $2 slots  $3 what it has handlers for
//
// The first slot says it for all of them. Written again with each beat, since a sweep may have removed the record.
const BEAT = `
  insert into {schema}.workers (worker_id, slot, beat_at, handles)
  select $1, slot, clock_timestamp(), case slot when 0 then $3 else '[]' end
    from generate_series(0, $2::integer - 1) slot
   where set_config('synchronous_commit', 'off', true) is not null
      on conflict (worker_id, slot) do update
     set beat_at = excluded.beat_at,
         handles = excluded.handles`

/** Shows that the worker lives, for all its slots at once, and what it has handlers for. */
export async function beatWorker(
  connection: Connection,
  { workerId, slots, handles }: WorkerBeat,
): Promise<void> {
  await connection.query(BEAT, [workerId, slots, JSON.stringify(handles)])
}
