import type { Connection } from '../connection.ts'

// One range per partial index, each read from its head. What a worker's record lists as running
// is not waiting, and would make this 0 for as long as it runs.
const first = (due: string): string => `
         (select run_at
            from {schema}.queue
           where ${due}
             and (event_id, attempts + 1) not in (
                 select r.event_id, r.attempt
                   from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt))
           order by run_at
           limit 1)`

// $1 the lock that the one running suspect holds  $2 whether to leave out what is leased
//
// While it is held no other suspect can be claimed, however long it is due, and an idle worker that was
// told of it would ask again at once. The locks are looked at only when there is a suspect, and not by
// trying: that would be in the way of whoever claims.
const NEXT = `
  with suspect as materialized (
         select${first('parked is null and crashes > 0 and not leasable')} as run_at),
       free as (
         select case when run_at is not null
                      and not exists (select
                                        from pg_locks
                                       where locktype = 'advisory' and granted
                                         and database = (select oid from pg_database
                                                          where datname = current_database())
                                         and classid = (($1::bigint >> 32) & 4294967295)::oid
                                         and objid = ($1::bigint & 4294967295)::oid
                                         and objsubid = 1)
                     then run_at end as run_at
           from suspect)
  select (extract(epoch from least(
         ${first('parked is null and attempts = 0 and crashes = 0 and not leasable')},
         ${first('parked is null and attempts > 0 and crashes = 0 and not leasable')},
         (select run_at
            from {schema}.queue
           where parked is null and leasable and lease_token is null and not $2::boolean
           order by run_at
           limit 1),
         (select run_at from free)) - clock_timestamp()) * 1000)::float8 as due_in_ms`

/** Milliseconds until the earliest event that may be claimed becomes due; `undefined` when none waits. */
export async function findNextDueInMs(
  connection: Connection,
  { suspectLock, exceptLeasable }: { suspectLock: string; exceptLeasable: boolean },
): Promise<number | undefined> {
  const { rows } = await connection.query<'due_in_ms'>(NEXT, [suspectLock, exceptLeasable])
  const dueInMs = rows[0]?.due_in_ms
  return dueInMs == null ? undefined : Math.max(0, Math.ceil(Number(dueInMs)))
}
