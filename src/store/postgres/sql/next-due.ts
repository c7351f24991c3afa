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

const NEXT = `
  select (extract(epoch from least(
         ${first('parked is null and attempts = 0 and crashes = 0')},
         ${first('parked is null and attempts > 0 and crashes = 0')},
         ${first('parked is null and crashes > 0')}) - clock_timestamp()) * 1000)::float8 as due_in_ms`

/** Milliseconds until the earliest event that waits becomes due; `undefined` when none waits. */
export async function findNextDueInMs(connection: Connection): Promise<number | undefined> {
  const { rows } = await connection.query<'due_in_ms'>(NEXT)
  const dueInMs = rows[0]?.due_in_ms
  return dueInMs == null ? undefined : Math.max(0, Math.ceil(Number(dueInMs)))
}
