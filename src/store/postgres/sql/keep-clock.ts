import type { ClockKept } from '../../contract/events.ts'
import type { Connections } from '../connections.ts'
import { DUE } from './claim-group.ts'
import { CORRECT_CLOCK, correctClock, TOLERANCE_MS } from './correct-clock.ts'

/** How old the time that is written down may be. */
const EVERY_MS = 1_000

/** `tolerance` is a parameter, in ms. */
const aheadOf = (tolerance: string): string =>
  `(select clock_timestamp()) + ${tolerance}::float8 * interval '1 millisecond'`

// $1 how old the time that is written down may be, in ms  $2 tolerance in ms
//
// What was there before is read with the statement's snapshot, which does not see what the statement writes.
//
// Whether an event is ahead is asked of the latest of each topic, an index probe each: before PostgreSQL 18 a time
// alone is found by walking over the whole index. Measured on PostgreSQL 15 with 100,000 events queued: 33 ms
// that way, 0.9 ms this way.
const KEEP = `
  with recursive now as materialized (
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
         returning 1),
       latest as (
         (select q.topic, q.run_at
            from {schema}.queue q
           where ${DUE.fresh}
           order by q.topic desc, q.run_at desc, q.event_id desc
           limit 1)
          union all
         select next.*
           from latest
          cross join lateral (select q.topic, q.run_at
                                from {schema}.queue q
                               where ${DUE.fresh} and q.topic < latest.topic
                               order by q.topic desc, q.run_at desc, q.event_id desc
                               limit 1) next)
  select exists (select from kept) as is_written,
         exists (select from now, last where last.ms > now.ms + $2::float8) as is_back,
         exists (select from latest where run_at > ${aheadOf('$2')}) as is_ahead`

// What was never tried is due when it is stored. The correction leaves alone what is locked, and what a group
// then gives back without having begun it would wait until the clock has caught up.
//
// $1 tolerance in ms
const MAKE_DUE = `
  with held as materialized (
         select q.event_id, q.run
           from {schema}.queue q
          where ${DUE.fresh}
            and q.run_at > ${aheadOf('$1')}
            for update skip locked)
  update {schema}.queue q
     set run_at = clock_timestamp()
    from held
   where q.event_id = held.event_id and q.run = held.run`

/** One round trip while all is well. */
export async function keepClock(
  connections: Connections,
  { always }: { always: boolean },
): Promise<ClockKept> {
  const [row] = await connections.use(async (connection) => {
    const values = [always ? 0 : EVERY_MS, TOLERANCE_MS]
    const kept = await connection.query<'is_written' | 'is_back' | 'is_ahead'>(KEEP, values)
    return kept.rows
  })
  if (row?.is_back === 't') {
    const wentBackMs = await connections.transact(correctClock, CORRECT_CLOCK)
    return { isWritten: wentBackMs > 0, wentBackMs }
  }
  if (row?.is_ahead === 't')
    await connections.transact(
      async (connection) => connection.query(MAKE_DUE, [TOLERANCE_MS]),
      CORRECT_CLOCK,
    )
  return { isWritten: row?.is_written === 't', wentBackMs: 0 }
}
