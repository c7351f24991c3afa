import type { EventId } from '../../model/event.ts'
import type { EventRecord, Outcome } from '../../model/outcome.ts'
import { timeOfId } from '../../model/id-range.ts'

/** What is known of an event whose payload was pruned: how it ended, and when it was stored. */
export function prunedRecord(eventId: EventId, outcome: Outcome): EventRecord {
  return {
    id: eventId,
    source: '',
    key: undefined,
    type: '',
    lane: undefined,
    state: outcome.state,
    reason: outcome.reason,
    attempts: outcome.attempts,
    crashes: 0,
    nextRunAt: undefined,
    payload: 'pruned',
    body: new Uint8Array(),
    headers: {},
    receivedAt: new Date(timeOfId(eventId)),
    occurredAt: undefined,
    version: undefined,
    sequence: undefined,
    verifiedBy: '',
    outcome,
    failures: [],
    deliveries: 0,
  }
}
