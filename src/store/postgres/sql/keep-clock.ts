import type { ClockKept } from '../../contract/events.ts'
import type { Connections } from '../connections.ts'
import {
  CORRECT_CLOCK,
  correctClock,
  correctRest,
  isRestDue,
  TOLERANCE_MS,
} from './correct-clock.ts'

/** How old the time that is written down may be. */
const EVERY_MS = 1_000

// $1 how old the time that is written down may be, in ms  $2 tolerance in ms
//
// What was there before is read with the statement's snapshot, which does not see what the statement writes.
const KEEP = `
  with now as materialized (
         select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms),
       last as materialized (
         select value::bigint as ms
           from {schema}.meta
          where name = 'clock'),
       kept as (
         insert into {schema}.meta (name, value)
         select 'clock', now.ms::text
           from now
          where not exists (select from last where last.ms > now.ms - $1::bigint)
            and set_config('synchronous_commit', 'off', true) is not null
             on conflict (name) do update
            set value = excluded.value
         returning 1)
  select exists (select from kept) as is_written,
         exists (select from now, last where last.ms > now.ms + $2::float8) as is_back,
         (select ms from now) as now_ms,
         (select value from {schema}.meta where name = 'set_backs') as set_backs`

/** One round trip while all is well. */
export async function keepClock(
  connections: Connections,
  { always }: { always: boolean },
): Promise<ClockKept> {
  const [row] = await connections.use(async (connection) => {
    const values = [always ? 0 : EVERY_MS, TOLERANCE_MS]
    const kept = await connection.query<'is_written' | 'is_back' | 'now_ms' | 'set_backs'>(
      KEEP,
      values,
    )
    return kept.rows
  })
  if (row?.is_back === 't') {
    const wentBackMs = await connections.transact(correctClock, CORRECT_CLOCK)
    return { isWritten: wentBackMs > 0, wentBackMs }
  }
  if (isRestDue(row?.set_backs, Number(row?.now_ms)))
    await connections.transact(correctRest, CORRECT_CLOCK)
  return { isWritten: row?.is_written === 't', wentBackMs: 0 }
}
