/**
 * Events as the admin API shows them. Each schema has the type that the operator returns, so that a member that is
 * added there is missed here by the compiler.
 *
 * @module
 */

import { z } from 'zod'
import type {
  EventPage,
  EventRecord,
  EventSummary,
  IdempotencyKeyUses,
  MessagePage,
  MessageRecord,
  MessageSummary,
  MessageResponse,
  Outcome,
  RecordedFailure,
  RunRecord,
  ShownEvent,
  StepRecord,
} from '../../../index.ts'
import { EVENT_STATES, MESSAGE_STATES, SETTLED_STATES } from '../../../index.ts'
import { bytes, instant, orNull } from '../wire.ts'
import { auditRecord } from './operators.ts'

const text = z.string()
const count = z.int().min(0)
const state = z.enum(EVENT_STATES)

export const eventSummary: z.ZodType<EventSummary> = z
  .object({
    id: text,
    source: text,
    type: text,
    key: orNull(text),
    state,
    reason: orNull(text),
    run: count,
    attempts: count,
    crashes: count,
    error: orNull(text),
    handler: orNull(text),
    receivedAt: instant,
    occurredAt: orNull(instant),
    nextRunAt: orNull(instant),
    settledAt: orNull(instant),
    bodyBytes: count,
  })
  .meta({ id: 'EventSummary' })

export const eventPage: z.ZodType<EventPage> = z
  .object({ events: z.array(eventSummary), cursor: orNull(text), lookedAt: count })
  .meta({ id: 'EventPage' })

const outcome: z.ZodType<Outcome> = z
  .object({
    state: z.enum(SETTLED_STATES),
    attempts: count,
    startedAt: orNull(instant),
    durationMs: z.number(),
    reason: orNull(text),
    result: orNull(text),
    settledAt: instant,
  })
  .meta({ id: 'Outcome' })

const failure: z.ZodType<RecordedFailure> = z
  .object({
    attempt: count,
    reason: z.enum([
      'error',
      'timeout',
      'connection',
      'transaction',
      'commit',
      'crashed',
      'payload',
      'order',
      'history',
      'unknown',
    ]),
    message: text,
    durationMs: z.number(),
    handler: text.optional(),
    stack: text.optional(),
    cause: text.optional(),
    startedAt: z.exactOptional(instant),
    failedAt: instant,
  })
  .meta({ id: 'Failure' })

const blocker = z.object({
  eventId: orNull(text),
  state: orNull(state),
  until: orNull(instant),
  reason: text,
})

export const eventRecord: z.ZodType<EventRecord> = z
  .object({
    id: text,
    source: text,
    key: orNull(text),
    type: text,
    state,
    reason: orNull(text),
    attempts: count,
    crashes: count,
    nextRunAt: orNull(instant),
    payload: z.enum(['kept', 'pruned', 'erased', 'unreadable']),
    lane: orNull(text),
    blockedBy: blocker.optional(),
    body: bytes,
    headers: z.record(text, z.union([text, z.array(text)])),
    receivedAt: instant,
    occurredAt: orNull(instant),
    version: orNull(text),
    sequence: orNull(text),
    verifiedBy: text,
    outcome: orNull(outcome),
    failures: z.array(failure),
    deliveries: count,
  })
  .meta({ id: 'EventRecord' })

const response: z.ZodType<MessageResponse> = z.object({ status: z.int(), head: text, body: bytes })

export const messageRecord: z.ZodType<MessageRecord> = z
  .object({
    id: text,
    destination: text,
    key: text,
    state: z.enum(MESSAGE_STATES),
    reason: orNull(text),
    attempts: count,
    sendAt: orNull(instant),
    lane: orNull(text),
    blockedBy: orNull(text),
    holdsUp: count,
    uncertainSince: orNull(instant),
    body: bytes,
    contentType: text,
    headers: z.record(text, text),
    eventId: orNull(text),
    createdAt: instant,
    outcome: orNull(
      z.object({
        state: z.enum(['sent', 'dead', 'unknown', 'discarded']),
        settledAt: instant,
        response: orNull(response),
      }),
    ),
    failures: z.array(
      z.object({
        reason: z.enum([
          'unreachable',
          'blocked',
          'timeout',
          'interrupted',
          'refused',
          'error',
          'check',
          'unreadable',
        ]),
        message: text,
        durationMs: z.number(),
        response: orNull(response),
        attempt: count,
        failedAt: instant,
      }),
    ),
  })
  .meta({ id: 'MessageRecord' })

export const messageSummary: z.ZodType<MessageSummary> = z
  .object({
    id: text,
    destination: text,
    key: text,
    state: z.enum(MESSAGE_STATES),
    reason: orNull(text),
    attempts: count,
    eventId: orNull(text),
    createdAt: instant,
  })
  .meta({ id: 'MessageSummary' })

export const messagePage: z.ZodType<MessagePage> = z
  .object({ messages: z.array(messageRecord), cursor: orNull(text), lookedAt: count })
  .meta({ id: 'MessagePage' })

const STEP = {
  handler: text,
  position: count,
  kind: z.enum(['tx', 'call', 'send']),
  name: text,
  state: z.enum(['started', 'refused', 'done']),
  starts: count,
  startedAt: instant,
  result: orNull(text),
}

export const stepRecord: z.ZodType<StepRecord> = z.object(STEP).meta({ id: 'StepRecord' })

export const runRecord: z.ZodType<RunRecord> = z
  .object({
    run: count,
    reason: orNull(text),
    actor: orNull(text),
    at: instant,
    freshKeys: z.boolean(),
    body: orNull(bytes),
  })
  .meta({ id: 'RunRecord' })

const difference = z.union([
  z.object({
    kind: z.literal('json'),
    differences: z.array(
      z.object({
        path: text,
        change: z.enum(['added', 'removed', 'changed']),
        before: z.exactOptional(text),
        after: z.exactOptional(text),
      }),
    ),
    isCut: z.boolean(),
  }),
  z.object({
    kind: z.literal('bytes'),
    lengths: z.tuple([count, count]),
    differsAt: orNull(count),
  }),
])

export const shownEvent: z.ZodType<ShownEvent> = z
  .object({
    event: eventRecord,
    deliveries: z.array(z.object({ minute: instant, outcome: text, count })),
    runs: z.array(
      z.object({
        run: count,
        replay: orNull(runRecord),
        outcome: orNull(outcome),
        failures: z.array(failure),
        steps: z.array(z.object({ ...STEP, idempotencyKey: text })),
      }),
    ),
    messages: z.array(messageRecord),
    hasMoreMessages: z.boolean(),
    firstEventId: orNull(text),
    difference: orNull(difference),
    beside: z.array(z.object({ event: eventSummary, hasSameBody: z.boolean() })),
    audit: z.array(auditRecord),
  })
  .meta({ id: 'EventStory' })

export const idempotencyKeyUses: z.ZodType<IdempotencyKeyUses> = z
  .object({
    messages: z.array(messageRecord),
    steps: z.array(z.object({ eventId: text, run: count, handler: text, name: text })),
    lookedAt: count,
    cursor: orNull(text),
  })
  .meta({ id: 'IdempotencyKeyUses' })
