import type { Connection } from '../connection.ts'

// $1 worker  $2 slots
const BEAT = `
  insert into {schema}.workers (worker_id, slot, beat_at)
  select $1, slot, clock_timestamp()
    from generate_series(0, $2::integer - 1) slot
   where set_config('synchronous_commit', 'off', true) is not null
      on conflict (worker_id, slot) do update
     set beat_at = excluded.beat_at`

/** Shows that the worker lives, for all its slots at once. */
export async function beatWorker(
  connection: Connection,
  workerId: string,
  slots: number,
): Promise<void> {
  await connection.query(BEAT, [workerId, slots])
}
