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
import { FAILURE_JSON, asFailure } from './event-record.ts'
import type { FailureRow } from './event-record.ts'
import { SUMMARY_COLUMNS, SUMMARY_TABLES, asEventSummary } from './event-summary.ts'
import { STEP_COLUMNS, asStepRecord } from './list-steps.ts'
import { listMessagesOfEvent } from './message-record.ts'
import { OUTCOME_COLUMNS, findOutcomeIn } from './outcome-row.ts'

// $1 event
//
// Of one whose payload was pruned there is still how it ended, and what it sent.
const FIND = `
  select encode(e.key_hash, 'hex') as key_hash, nullif(k.event_id, e.id) as first_id
    from (values ($1::uuid)) as asked (id)
    left join {schema}.events e on e.id = asked.id
    left join {schema}.keys k on k.hash = e.key_hash
   where e.id is not null or exists (select from {schema}.outcomes o where o.event_id = asked.id)`

export async function findStory(
  connection: Connection,
  eventId: EventId,
): Promise<StoredStory | undefined> {
  const { rows } = await connection.query<'key_hash' | 'first_id'>(FIND, [eventId])
  const [row] = rows
  if (row === undefined) return undefined
  const messages = await listMessagesOfEvent(connection, eventId, STORY_MAX.messages + 1)
  return {
    keyHash: row.key_hash ?? '',
    firstEventId: row.first_id ?? undefined,
    deliveries: await listDeliveries(connection, eventId),
    outcomes: await listOutcomes(connection, eventId),
    failures: await listFailures(connection, eventId),
    steps: await listSteps(connection, eventId),
    messages: messages.slice(0, STORY_MAX.messages),
    hasMoreMessages: messages.length > STORY_MAX.messages,
    beside: await listBeside(connection, eventId),
  }
}

// $1 event  $2 limit
const LIST_DELIVERIES = `
  select (extract(epoch from minute) * 1000)::bigint as minute, outcome, count
    from (select *
            from {schema}.deliveries
           where event_id = $1
           order by minute desc, outcome desc
           limit $2) newest
   order by newest.minute, outcome`

async function listDeliveries(
  connection: Connection,
  eventId: EventId,
): Promise<readonly DeliveriesOfMinute[]> {
  const { rows } = await connection.query<'minute' | 'outcome' | 'count'>(LIST_DELIVERIES, [
    eventId,
    STORY_MAX.deliveries,
  ])
  return rows.map(({ minute, outcome, count }) => ({
    minute: new Date(Number(minute)),
    outcome: outcome ?? '',
    count: Number(count),
  }))
}

// $1 event
const LIST_OUTCOMES = `
  select o.run,${OUTCOME_COLUMNS}
    from {schema}.outcomes o
   where o.event_id = $1
   order by o.run`

async function listOutcomes(
  connection: Connection,
  eventId: EventId,
): Promise<readonly (Outcome & OfRun)[]> {
  const { rows } = await connection.query(LIST_OUTCOMES, [eventId])
  return rows.flatMap((row) => {
    const outcome = findOutcomeIn(row)
    return outcome === undefined ? [] : [{ ...outcome, run: Number(row['run']) }]
  })
}

// $1 event  $2 limit
const LIST_FAILURES = `
  select run, ${FAILURE_JSON} as failure
    from (select *
            from {schema}.attempts
           where event_id = $1
           order by failed_at desc, attempt desc
           limit $2) newest
   order by failed_at, attempt`

async function listFailures(
  connection: Connection,
  eventId: EventId,
): Promise<readonly (RecordedFailure & OfRun)[]> {
  const { rows } = await connection.query<'run' | 'failure'>(LIST_FAILURES, [
    eventId,
    STORY_MAX.failures,
  ])
  return rows.map(({ run, failure }) => ({
    ...asFailure(JSON.parse(failure ?? '{}') as FailureRow),
    run: Number(run),
  }))
}

// $1 event  $2 limit
const LIST_STEPS = `
  select run,${STEP_COLUMNS}
    from {schema}.steps
   where event_id = $1
   order by run, handler, position
   limit $2`

async function listSteps(
  connection: Connection,
  eventId: EventId,
): Promise<readonly (StepRecord & OfRun)[]> {
  const { rows } = await connection.query(LIST_STEPS, [eventId, STORY_MAX.steps])
  return rows.map((row) => ({ ...asStepRecord(row), run: Number(row['run']) }))
}

// $1 event  $2 limit
const LIST_BESIDE = `
  select ${SUMMARY_COLUMNS}, e.body = own.body as has_same_body
    from {schema}.events own,
         lateral (select id
                    from {schema}.events other
                   where sha256(other.event_key) = sha256(own.event_key)
                     and other.source = own.source
                     and other.id <> own.id
                   order by id desc
                   limit $2) beside,
         ${SUMMARY_TABLES}
   where own.id = $1
     and e.id = beside.id
   order by e.id desc`

async function listBeside(
  connection: Connection,
  eventId: EventId,
): Promise<readonly EventBeside[]> {
  const { rows } = await connection.query(LIST_BESIDE, [eventId, STORY_MAX.beside])
  return rows.map((row) => ({
    event: asEventSummary(row),
    hasSameBody: row['has_same_body'] === 't',
  }))
}
