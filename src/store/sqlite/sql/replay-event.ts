import type { EventId } from '../../../model/event.ts'
import type { Ordered, PageAbove, ReplayTerms, RunRecord } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { withoutNul } from '../../shared/without-nul.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 event id  2 run  3 reason  4 actor  5 fresh keys  6 body, or null
const INSERT_RUN = `
  insert into {prefix}runs (event_id, run, reason, actor, ordered_at, fresh_keys, body)
  values (?, ?, ?, ?, ${NOW}, ?, ?)`

// 1 run  2 event id
const INSERT_QUEUE = `
  insert into {prefix}queue (event_id, topic, run, run_at)
  select id, topic, ?, ${NOW}
    from {prefix}events
   where id = ?`

/** Queues a run of its own. Inside a write transaction. */
export function replayEvent(
  connection: Connection,
  { eventId, run }: { readonly eventId: EventId; readonly run: number },
  { reason, actor }: Ordered,
  { freshKeys, body }: ReplayTerms,
): void {
  const [why, who] = [reason, actor].map((text) => (text === undefined ? null : withoutNul(text)))
  connection.run(INSERT_RUN, [eventId, run, why, who, freshKeys ? 1 : 0, body ?? null])
  connection.run(INSERT_QUEUE, [run, eventId])
}

// 1 event id  2 above this run  3 limit, or -1 for all
const LIST_RUNS = `
  select run, reason, actor, ordered_at, fresh_keys, body
    from {prefix}runs
   where event_id = ?
     and run > ?
   order by run
   limit ?`

export function listRuns(
  connection: Connection,
  eventId: EventId,
  { above = 0, limit = -1 }: PageAbove<number> = {},
): readonly RunRecord[] {
  return connection.all<RunRow>(LIST_RUNS, [eventId, above, limit]).map((row) => ({
    run: row.run,
    reason: row.reason ?? undefined,
    actor: row.actor ?? undefined,
    at: new Date(row.ordered_at),
    freshKeys: row.fresh_keys === 1,
    body: row.body ?? undefined,
  }))
}

type RunRow = {
  run: number
  reason: string | null
  actor: string | null
  ordered_at: number
  fresh_keys: number
  body: Uint8Array | null
}
