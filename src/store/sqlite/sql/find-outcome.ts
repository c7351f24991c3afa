import type { OutcomeView } from '../../contract/events.ts'
import type { EventId } from '../../../model/event.ts'
import type { SettledState } from '../../../model/event-state.ts'
import type { Outcome } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

// 1 event id
//
// One that is leased has its running attempt counted already.
const FIND_QUEUED = `
  select attempts - (lease_token is not null) as attempts, parked
    from {prefix}queue
   where event_id = ?`

/** For `asOutcome`. */
export const OUTCOME_COLUMNS =
  'state, attempts, started_at, duration_ms, cast(reason as blob) as reason, result, settled_at'

// 1 event id
const FIND_OUTCOME = `
  select ${OUTCOME_COLUMNS}
    from {prefix}outcomes
   where event_id = ?
   order by run desc
   limit 1`

/** An event that is queued has no outcome yet, whatever an earlier run of it left. */
export function findOutcome(connection: Connection, eventId: EventId): OutcomeView | undefined {
  const [queued] = connection.all<{ attempts: number; parked: string | null }>(FIND_QUEUED, [
    eventId,
  ])
  if (queued !== undefined) {
    return { outcome: undefined, attempts: queued.attempts, parked: queued.parked ?? undefined }
  }
  const outcome = findLatestOutcome(connection, eventId)
  if (outcome === undefined) return undefined
  const failed = outcome.state === 'dead' ? outcome.attempts : Math.max(0, outcome.attempts - 1)
  return { outcome, attempts: failed, parked: undefined }
}

export function findLatestOutcome(connection: Connection, eventId: EventId): Outcome | undefined {
  const [row] = connection.all<OutcomeRow>(FIND_OUTCOME, [eventId])
  return row && asOutcome(row)
}

export function asOutcome(row: OutcomeRow): Outcome {
  return {
    state: row.state,
    attempts: row.attempts,
    startedAt: row.started_at === null ? undefined : new Date(row.started_at),
    durationMs: row.duration_ms,
    reason: row.reason === null ? undefined : decodeText(row.reason),
    result: row.result ?? undefined,
    settledAt: new Date(row.settled_at),
  }
}

export type OutcomeRow = {
  state: SettledState
  attempts: number
  started_at: number | null
  duration_ms: number
  reason: Uint8Array | null
  result: string | null
  settled_at: number
}
