import type { CallEntry, CallWritten, Lease, OpenStep } from '../../contract/steps.ts'
import type { LoopBreaks } from '../../../flow/loop-breaks.ts'
import type { Connection } from '../connection.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 event id  2 run  3 token
const HOLDS = `
  select 1 as found
    from {prefix}queue
   where event_id = ?
     and run = ?
     and lease_token = ?`

// 1 event id  2 run  3 handler  4 position  5 name  6 state  7 starts  8 result
//
// An insert with no starts is a restart: what was uncertain before is known not to have happened.
const WRITE = `
  insert into {prefix}steps as s
         (event_id, run, handler, position, kind, name, state, starts, started_at, result)
  values (?, ?, ?, ?, 'call', ?, ?, ?, ${NOW}, ?)
      on conflict (event_id, run, handler, position) do update
     set state = excluded.state,
         starts = s.starts + (excluded.state = 'started'),
         started_at = iif(excluded.state = 'started' and (s.state = 'refused' or excluded.starts = 0),
                          excluded.started_at, s.started_at),
         result = excluded.result
   where s.state <> 'done' or (excluded.state = 'done' and s.result is excluded.result)
  returning ${NOW} - started_at as uncertain_ms`

/** Whether the lease is still the event's. Inside a write transaction, which keeps it so. */
export function holdsLease(connection: Connection, { eventId, run, token }: Lease): boolean {
  return connection.all(HOLDS, [eventId, run, token]).length === 1
}

/** One answer per entry, in their order. Inside a write transaction. */
export async function writeCalls(
  connection: Connection,
  breaks: LoopBreaks,
  entries: readonly CallEntry[],
): Promise<(CallWritten | undefined)[]> {
  return breaks.each(entries, ({ lease, handler, position, name, change, result }) => {
    if (!holdsLease(connection, lease)) return undefined
    const [written] = connection.all<{ uncertain_ms: number }>(WRITE, [
      lease.eventId,
      lease.run,
      handler,
      position,
      name,
      change === 'restarted' ? 'started' : change,
      change === 'restarted' ? 0 : 1,
      result ?? null,
    ])
    return written && { uncertainForMs: written.uncertain_ms }
  })
}

// 1 event id  2 run  3 handler  4 position  5 kind  6 name  7 result
const INSERT_DONE = `
  insert into {prefix}steps
         (event_id, run, handler, position, kind, name, state, started_at, result)
  values (?, ?, ?, ?, ?, ?, 'done', ${NOW}, ?)`

/** Keeps the result of a step, in the transaction that it ran in. */
export function insertDone(
  connection: Connection,
  { lease, handler, position, kind, name }: OpenStep,
  result: string | undefined,
): void {
  const { eventId, run } = lease
  connection.run(INSERT_DONE, [eventId, run, handler, position, kind, name, result ?? null])
}
