import type { EventId } from '../../../model/event.ts'
import type { StepKind, StepRecord, StepState } from '../../../model/step.ts'
import type { Ordered } from '../../contract/operators.ts'
import type { StepResolution, StepResolved } from '../../contract/steps.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { findByToken, writeAudit } from './audit.ts'

/** For `asStepRecord`. */
export const STEP_COLUMNS = `
         cast(handler as blob) as handler, position, kind, cast(name as blob) as name, state, starts, started_at, result`

// 1 event id  2 run, or null for the latest  3 event id
const LIST = `
  select ${STEP_COLUMNS}
    from {prefix}steps
   where event_id = ?
     and run = coalesce(?, (select max(run) from {prefix}steps where event_id = ?))
   order by handler, position`

export type StepRow = {
  handler: Uint8Array
  position: number
  kind: StepKind
  name: Uint8Array
  state: StepState
  starts: number
  started_at: number
  result: string | null
}

export function listSteps(
  connection: Connection,
  eventId: EventId,
  run: number | undefined,
): StepRecord[] {
  return connection.all<StepRow>(LIST, [eventId, run ?? null, eventId]).map(asStepRecord)
}

export function asStepRecord(row: StepRow): StepRecord {
  return {
    handler: decodeText(row.handler),
    position: row.position,
    kind: row.kind,
    name: decodeText(row.name),
    state: row.state,
    starts: row.starts,
    startedAt: new Date(row.started_at),
    result: row.result ?? undefined,
  }
}

// 1 state  2 result  3 event id  4 name  5 handler, or null for any  6 event id  7 event id
const RESOLVE = `
  update {prefix}steps
     set state = ?,
         result = ?
   where event_id = ?
     and kind = 'call'
     and name = ?
     and state = 'started'
     and handler = coalesce(?, handler)
     and run = (select max(run) from {prefix}steps where event_id = ?)
     and not exists (select 1 from {prefix}queue q where q.event_id = ? and q.lease_token is not null)`

// 1 event id
const IS_LEASED = `
  select 1 as found
    from {prefix}queue
   where event_id = ?
     and lease_token is not null`

/** Inside a write transaction. */
export function resolveStep(
  connection: Connection,
  { eventId, handler, name, decision }: StepResolution,
  order: Ordered,
): StepResolved {
  const deed = { action: 'resolveStep', kind: 'event', id: eventId } as const
  const outcome = { status: 'done', step: name, happened: decision.happened } as const
  const before = findByToken<typeof outcome>(connection, deed, order.token)
  if (before !== undefined) return before
  const state = decision.happened ? 'done' : 'refused'
  const result = decision.happened ? (decision.result ?? null) : null
  const params = [state, result, eventId, name, handler ?? null, eventId, eventId]
  if (connection.run(RESOLVE, params) > 0) return writeAudit(connection, deed, order, outcome)
  const isLeased = connection.all(IS_LEASED, [eventId]).length > 0
  return { status: 'refused', code: isLeased ? 'EVENT_RUNNING' : 'STEP_CERTAIN' }
}
