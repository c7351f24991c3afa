import type { EventId } from '../../../model/event.ts'
import type { Ordered, PageAbove, ReplayTerms, RunRecord } from '../../contract/operators.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'

// $1 event  $2 run  $3 reason  $4 actor  $5 fresh keys  $6 body, or null
const ADD_RUN = `
  with described as (
         insert into {schema}.runs (event_id, run, reason, actor, ordered_at, fresh_keys, body)
         values ($1, $2, $3, $4, clock_timestamp(), $5, $6)
         returning event_id, run, body)
  insert into {schema}.queue (event_id, topic, run, run_at, bytes)
  select e.id, e.topic, described.run, clock_timestamp(), octet_length(coalesce(described.body, e.body))
    from described
    join {schema}.events e on e.id = described.event_id`

/** Queues a run of its own. Under the event's locks. */
export async function replayEvent(
  connection: Connection,
  { eventId, run }: { readonly eventId: EventId; readonly run: number },
  { reason, actor }: Ordered,
  { freshKeys, body }: ReplayTerms,
): Promise<void> {
  await connection.query(ADD_RUN, [
    eventId,
    run,
    reason === undefined ? null : withoutNul(reason),
    actor === undefined ? null : withoutNul(actor),
    freshKeys,
    body === undefined ? null : Buffer.from(body),
  ])
}

// $1 event  $2 above this run  $3 limit, or null for all
const LIST_RUNS = `
  select run, reason, actor, (extract(epoch from ordered_at) * 1000)::bigint as ordered_at, fresh_keys,
         encode(body, 'hex') as body
    from {schema}.runs
   where event_id = $1
     and run > $2
   order by run
   limit $3`

export async function listRuns(
  connection: Connection,
  eventId: EventId,
  { above = 0, limit }: PageAbove<number> = {},
): Promise<readonly RunRecord[]> {
  const { rows } = await connection.query(LIST_RUNS, [eventId, above, limit ?? null])
  return rows.map((row) => ({
    run: Number(row['run']),
    reason: row['reason'] ?? undefined,
    actor: row['actor'] ?? undefined,
    at: new Date(Number(row['ordered_at'])),
    freshKeys: row['fresh_keys'] === 't',
    body: row['body'] == null ? undefined : Buffer.from(row['body'], 'hex'),
  }))
}
