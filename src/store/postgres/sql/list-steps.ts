import type { EventId } from '../../../model/event.ts'
import type { StepKind, StepRecord, StepState } from '../../../model/step.ts'
import type { Ordered } from '../../contract/operators.ts'
import type { StepResolution, StepResolved } from '../../contract/steps.ts'
import type { Connection, TextRow } from '../connection.ts'
import { findByToken, writeAudit } from './audit.ts'

/** For `asStepRecord`. */
export const STEP_COLUMNS = `
         handler, position, kind, name, state, starts, result,
         (extract(epoch from started_at) * 1000)::bigint as started_at`

// $1 event  $2 run, or null for the latest
const LIST = `
  select ${STEP_COLUMNS}
    from {schema}.steps
   where event_id = $1
     and run = coalesce($2::integer, (select max(run) from {schema}.steps where event_id = $1))
   order by handler, position`

export async function listSteps(
  connection: Connection,
  eventId: EventId,
  run: number | undefined,
): Promise<readonly StepRecord[]> {
  const { rows } = await connection.query(LIST, [eventId, run ?? null])
  return rows.map(asStepRecord)
}

export function asStepRecord(row: TextRow): StepRecord {
  return {
    handler: row['handler'] ?? '',
    position: Number(row['position']),
    kind: row['kind'] as StepKind,
    name: row['name'] ?? '',
    state: row['state'] as StepState,
    starts: Number(row['starts']),
    startedAt: new Date(Number(row['started_at'])),
    result: row['result'] ?? undefined,
  }
}

// $1 event
//
// From here on no worker leases it: whether it is leased is looked at in a statement of its own, which sees
// the lease that this one may have waited for.
const KEEP_FROM_LEASES = `
  select 1
    from {schema}.queue
   where event_id = $1 and lease_token is null
     for update`

// $1 event  $2 handler, or null for any  $3 name  $4 state  $5 result
//
// The worker that holds the event has its own idea of the step, so a leased event is left alone.
const RESOLVE = `
  update {schema}.steps s
     set state = $4, result = $5
   where s.event_id = $1 and s.kind = 'call' and s.name = $3 and s.state = 'started'
     and s.handler = coalesce($2, s.handler)
     and s.run = (select max(run) from {schema}.steps where event_id = $1)
     and not exists (select from {schema}.queue q where q.event_id = $1 and q.lease_token is not null)`

// $1 event
const IS_LEASED = `
  select 1
    from {schema}.queue
   where event_id = $1 and lease_token is not null`

/** Runs inside a transaction of the caller. */
export async function resolveStep(
  connection: Connection,
  { eventId, handler, name, decision }: StepResolution,
  order: Ordered,
): Promise<StepResolved> {
  const deed = { action: 'resolveStep', kind: 'event', id: eventId } as const
  const outcome = { status: 'done', step: name, happened: decision.happened } as const
  await connection.query(KEEP_FROM_LEASES, [eventId])
  const findDone = () => findByToken<typeof outcome>(connection, deed, order.token)
  const before = await findDone()
  if (before !== undefined) return before
  const { rowCount } = await connection.query(RESOLVE, [
    eventId,
    handler ?? null,
    name,
    decision.happened ? 'done' : 'refused',
    decision.happened ? (decision.result ?? null) : null,
  ])
  if ((rowCount ?? 0) > 0) return writeAudit(connection, deed, order, outcome)
  const doneSince = await findDone()
  if (doneSince !== undefined) return doneSince
  const { rows } = await connection.query(IS_LEASED, [eventId])
  return { status: 'refused', code: rows.length > 0 ? 'EVENT_RUNNING' : 'STEP_CERTAIN' }
}
