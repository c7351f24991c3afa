import type { Connection } from '../connection.ts'

/*
 * What a slot is listed as running is not waiting to be run: counted here, it would make idle slots
 * ask again at once for as long as a handler runs. Each part reads one end of a partial index.
 */
// 1 whether to leave out what is leased
const NEXT = `
  with running as materialized (
       select r.value ->> 'eventId' as event_id, r.value ->> 'attempt' as attempt
         from {prefix}workers w, json_each(w.running) r)
  select min(run_at) - cast(unixepoch('subsec') * 1000 as integer) as due_in_ms
    from (select * from (${earliest('q.attempts = 0 and q.crashes = 0 and q.leasable = 0')})
          union all
          select * from (${earliest('q.attempts > 0 and q.crashes = 0 and q.leasable = 0')})
          union all
          select * from (${earliest('q.crashes > 0 and q.leasable = 0')})
          union all
          select * from (select q.run_at
                           from {prefix}queue q
                          where q.parked is null
                            and q.leasable = 1
                            and q.lease_token is null
                            and not ?
                          order by q.run_at
                          limit 1))`

function earliest(kind: string): string {
  return `
  select q.run_at
    from {prefix}queue q
   where q.parked is null
     and ${kind}
     and (q.event_id, q.attempts + 1) not in (select event_id, attempt from running)
   order by q.run_at
   limit 1`
}

/** Milliseconds until the earliest event that is neither parked nor running is due. */
export function findNextDueInMs(
  connection: Connection,
  { exceptLeasable }: { exceptLeasable: boolean },
): number | undefined {
  const params = [exceptLeasable ? 1 : 0]
  const dueInMs = connection.all<{ due_in_ms: number | null }>(NEXT, params)[0]?.due_in_ms
  return dueInMs === null || dueInMs === undefined ? undefined : Math.max(0, dueInMs)
}
