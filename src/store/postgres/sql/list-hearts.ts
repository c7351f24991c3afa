import type { Heart } from '../../contract/workers.ts'
import { textArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// A worker's heart is that of its liveliest slot. With the number of its records, since a sweep that could not
// lock all of them has not seen all of them.
const LIST = `
  select worker_id,
         (extract(epoch from max(beat_at)) * 1000000)::bigint || '/' || count(*) as beat,
         (extract(epoch from clock_timestamp() - max(beat_at)) * 1000)::bigint as still_ms
    from {schema}.workers
   group by worker_id
   union all
  select distinct q.lease_worker, '', 0
    from {schema}.queue q
   where q.lease_token is not null
     and not exists (select from {schema}.workers w where w.worker_id = q.lease_worker)`

/** The hearts of all workers that have a record or a lease. A worker is recorded before it can have a lease. */
export async function listHearts(connection: Connection): Promise<readonly Heart[]> {
  const { rows } = await connection.query<'worker_id' | 'beat' | 'still_ms'>(LIST)
  return rows.map((row) => {
    const beat = row.beat ?? ''
    return {
      workerId: row.worker_id ?? '',
      beat,
      stillMs: Number(row.still_ms),
      isGone: beat === '',
    }
  })
}

// $1 workers
const LOCK = `
  select worker_id, (extract(epoch from beat_at) * 1000000)::bigint as beat
    from {schema}.workers
   where worker_id = any($1)
   order by worker_id, slot
     for update skip locked`

/**
 * The workers among these whose heart still stands where it stood. Their records are locked until the
 * transaction of the caller ends: until then they cannot beat, and no other sweeper can take them.
 */
export async function lockStopped(
  connection: Connection,
  stopped: readonly Heart[],
): Promise<readonly string[]> {
  const ids = stopped.map(({ workerId }) => workerId)
  const { rows } = await connection.query<'worker_id' | 'beat'>(LOCK, [textArray(ids)])
  return stopped
    .filter(({ workerId, beat }) => {
      const locked = rows.filter((row) => row.worker_id === workerId)
      return beat === describeBeat(locked.map((row) => Number(row.beat)))
    })
    .map(({ workerId }) => workerId)
}

/** As `listHearts` has it. */
function describeBeat(micros: readonly number[]): string {
  return micros.length === 0 ? '' : `${Math.max(...micros)}/${micros.length}`
}
