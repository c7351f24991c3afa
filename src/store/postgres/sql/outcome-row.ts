import type { Outcome } from '../../../model/outcome.ts'
import type { SettledState } from '../../../model/event-state.ts'
import type { TextRow } from '../connection.ts'

/** The columns of an outcome `o`, for `findOutcomeIn`. */
export const OUTCOME_COLUMNS = `
         o.state as outcome_state, o.attempts as outcome_attempts, o.duration_ms, o.reason as outcome_reason,
         o.result, (extract(epoch from o.started_at) * 1000)::bigint as started_at,
         (extract(epoch from o.settled_at) * 1000)::bigint as settled_at`

export function findOutcomeIn(row: TextRow): Outcome | undefined {
  const state = row['outcome_state']
  if (state == null) return undefined
  return {
    state: state as SettledState,
    attempts: Number(row['outcome_attempts']),
    durationMs: Number(row['duration_ms']),
    reason: row['outcome_reason'] ?? undefined,
    result: row['result'] ?? undefined,
    startedAt: row['started_at'] == null ? undefined : new Date(Number(row['started_at'])),
    settledAt: new Date(Number(row['settled_at'])),
  }
}
