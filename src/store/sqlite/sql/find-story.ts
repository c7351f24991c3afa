/**
 * What is kept of an event beside its record: a statement for each table, each with a limit.
 *
 * @module
 */

import type { DeliveriesOfMinute, EventBeside } from '../../../model/event-story.ts'
import type { EventId } from '../../../model/event.ts'
import type { Outcome, RecordedFailure } from '../../../model/outcome.ts'
import type { StepRecord } from '../../../model/step.ts'
import type { OfRun, StoredStory } from '../../contract/event-search.ts'
import { STORY_MAX } from '../../shared/story-limits.ts'
import type { Connection } from '../connection.ts'
import { SUMMARY_COLUMNS, SUMMARY_JOINS, asEventSummary } from './event-summary.ts'
import type { SummaryRow } from './event-summary.ts'
import { asFailure } from './find-event.ts'
import type { FailureRow } from './find-event.ts'
import { OUTCOME_COLUMNS, asOutcome } from './find-outcome.ts'
import type { OutcomeRow } from './find-outcome.ts'
import { STEP_COLUMNS, asStepRecord } from './list-steps.ts'
import type { StepRow } from './list-steps.ts'
import { listMessagesOfEvent } from './message-record.ts'

// Of one whose payload was pruned there is still how it ended, and what it sent.
//
// 1 event id
const FIND = `
  select lower(hex(e.key_hash)) as key_hash, nullif(k.event_id, e.id) as first_id
    from (select ?1 as id) asked
    left join {prefix}events e on e.id = asked.id
    left join {prefix}keys k on k.hash = e.key_hash
   where e.id is not null or exists (select 1 from {prefix}outcomes o where o.event_id = asked.id)`

export function findStory(connection: Connection, eventId: EventId): StoredStory | undefined {
  type FoundRow = { key_hash: string; first_id: string | null }
  const [row] = connection.all<FoundRow>(FIND, [eventId])
  if (row === undefined) return undefined
  const messages = listMessagesOfEvent(connection, eventId, STORY_MAX.messages + 1)
  return {
    keyHash: row.key_hash,
    firstEventId: row.first_id ?? undefined,
    deliveries: listDeliveries(connection, eventId),
    outcomes: listOutcomes(connection, eventId),
    failures: listFailures(connection, eventId),
    steps: listSteps(connection, eventId),
    messages: messages.slice(0, STORY_MAX.messages),
    hasMoreMessages: messages.length > STORY_MAX.messages,
    beside: listBeside(connection, eventId),
  }
}

// 1 event id  2 limit
const LIST_DELIVERIES = `
  select *
    from (select minute, outcome, count
            from {prefix}deliveries
           where event_id = ?
           order by minute desc, outcome desc
           limit ?)
   order by minute, outcome`

function listDeliveries(connection: Connection, eventId: EventId): readonly DeliveriesOfMinute[] {
  type DeliveriesRow = { minute: number; outcome: string; count: number }
  return connection
    .all<DeliveriesRow>(LIST_DELIVERIES, [eventId, STORY_MAX.deliveries])
    .map((row) => ({ ...row, minute: new Date(row.minute) }))
}

// 1 event id
const LIST_OUTCOMES = `
  select run, ${OUTCOME_COLUMNS}
    from {prefix}outcomes
   where event_id = ?
   order by run`

function listOutcomes(connection: Connection, eventId: EventId): readonly (Outcome & OfRun)[] {
  return connection
    .all<OutcomeRow & { run: number }>(LIST_OUTCOMES, [eventId])
    .map((row) => ({ ...asOutcome(row), run: row.run }))
}

// 1 event id  2 limit
const LIST_FAILURES = `
  select *
    from (select number, run, attempt, reason, message, duration_ms, handler, stack, cause, started_at, failed_at
            from {prefix}attempts
           where event_id = ?
           order by number desc
           limit ?)
   order by number`

function listFailures(
  connection: Connection,
  eventId: EventId,
): readonly (RecordedFailure & OfRun)[] {
  return connection
    .all<FailureRow & { run: number }>(LIST_FAILURES, [eventId, STORY_MAX.failures])
    .map((row) => ({ ...asFailure(row), run: row.run }))
}

// 1 event id  2 limit
const LIST_STEPS = `
  select run, ${STEP_COLUMNS}
    from {prefix}steps
   where event_id = ?
   order by run, handler, position
   limit ?`

function listSteps(connection: Connection, eventId: EventId): readonly (StepRecord & OfRun)[] {
  return connection
    .all<StepRow & { run: number }>(LIST_STEPS, [eventId, STORY_MAX.steps])
    .map((row) => ({ ...asStepRecord(row), run: row.run }))
}

// 1 event id  2 limit
const LIST_BESIDE = `
  select ${SUMMARY_COLUMNS}, e.body = own.body as has_same_body
    from {prefix}events own
    join {prefix}events e
      on e.event_key = own.event_key and e.source = own.source and e.id <> own.id${SUMMARY_JOINS}
   where own.id = ?
   order by e.id desc
   limit ?`

function listBeside(connection: Connection, eventId: EventId): readonly EventBeside[] {
  return connection
    .all<SummaryRow & { has_same_body: number }>(LIST_BESIDE, [eventId, STORY_MAX.beside])
    .map((row) => ({ event: asEventSummary(row), hasSameBody: row.has_same_body === 1 }))
}
