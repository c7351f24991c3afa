/**
 * What can be asked, for every role.
 *
 * @module
 */

import { z } from 'zod'
import { parseFilter } from '../../admin/filter-text.ts'
import { parseMessageFilter } from '../../admin/message-filter-text.ts'
import type {
  EventQuery,
  GroupQuery,
  ListAuditQuery,
  ListBulksQuery,
  ListRunsQuery,
  PageQuery,
  StatsQuery,
} from '../../index.ts'
import { bulkRecord } from './answers/bulks.ts'
import {
  eventPage,
  eventRecord,
  eventSummary,
  idempotencyKeyUses,
  messagePage,
  messageRecord,
  runRecord,
  shownEvent,
  stepRecord,
} from './answers/events.ts'
import { auditRecord, pauseRecord, secretUse } from './answers/operators.ts'
import { collectedStats, errorGroups, unfinished } from './answers/stats.ts'
import { route } from './route.ts'
import { flag, instant } from './wire.ts'

const READ = { method: 'GET', role: 'viewer' } as const

const filter = z
  .string()
  .optional()
  .describe('Which events, such as `state:dead source:stripe after:2h`. Left out: all of them.')
const cursor = z.string().optional().describe('That of the page before.')
const last = z
  .string()
  .optional()
  .describe('The `id` of the last one of the page before. Left out: from the first.')
const limit = z.int().min(1).max(1_000).optional().describe('How many at most; 100 if left out.')
const source = z.string().optional().describe('The name of a source. Left out: any.')
const page = z.strictObject({ filter, cursor, limit })

export const READ_ROUTES = {
  list: route({
    ...READ,
    path: '/events',
    summary: 'Events that fit, newest first, without their bodies',
    query: page,
    answer: eventPage,
    call: (operator, { query }) => operator.list(asQuery(query)),
  }),
  failures: route({
    ...READ,
    path: '/failures',
    summary: 'What did not succeed and will not by itself, with the reason of each',
    query: page,
    answer: eventPage,
    call: (operator, { query }) => operator.failures(asQuery(query)),
  }),
  find: route({
    ...READ,
    path: '/find',
    summary: 'Events by their id, or by the key that their sender knows them by',
    query: z.strictObject({ what: z.string().describe('An id, or a key.') }),
    answer: z.array(eventSummary),
    call: (operator, { query }) => operator.find(query.what),
  }),
  listDead: route({
    ...READ,
    path: '/dead',
    summary: 'The events that stopped and wait for a person, whole, the newest event first',
    query: z.strictObject({ cursor: last, limit }),
    answer: z.array(eventRecord),
    call: (operator, { query }) => operator.listDead(query as PageQuery),
  }),
  countEvents: route({
    ...READ,
    path: '/count',
    summary: 'How many events are stored',
    query: z.strictObject({ source }),
    answer: z.int().min(0),
    call: (operator, { query }) => operator.countEvents(query.source),
  }),
  listEventsByKey: route({
    ...READ,
    path: '/sources/{source}/events',
    summary: 'The event of a key, and the conflicts and quarantined ones beside it',
    query: z.strictObject({
      key: z.string().describe("The sender's key."),
      cursor: last,
      limit,
    }),
    answer: z.array(eventRecord),
    call: (operator, { path, query: { key, ...page } }) =>
      operator.listEventsByKey(path['source'] ?? '', key, page as PageQuery),
  }),
  show: route({
    ...READ,
    path: '/events/{eventId}',
    summary: 'The whole story of an event',
    answer: shownEvent,
    mayLack: true,
    call: (operator, { path }) => operator.show(path['eventId'] ?? ''),
  }),
  findEvent: route({
    ...READ,
    path: '/events/{eventId}/record',
    summary: 'The event itself, with its body, outcome and failures',
    answer: eventRecord,
    mayLack: true,
    call: (operator, { path }) => operator.findEvent(path['eventId'] ?? ''),
  }),
  findRequest: route({
    ...READ,
    path: '/events/{eventId}/request',
    summary: 'The body of the request that brought the event, byte for byte',
    answer: 'bytes',
    mayLack: true,
    call: (operator, { path }) => operator.findRequest(path['eventId'] ?? ''),
  }),
  listRuns: route({
    ...READ,
    path: '/events/{eventId}/runs',
    summary: 'The runs of an event that operators asked for',
    query: z.strictObject({
      cursor: z
        .int()
        .min(0)
        .optional()
        .describe('The `run` of the last one of the page before. Left out: from the first.'),
      limit,
    }),
    answer: z.array(runRecord),
    call: (operator, { path, query }) =>
      operator.listRuns(path['eventId'] ?? '', query as ListRunsQuery),
  }),
  listSteps: route({
    ...READ,
    path: '/events/{eventId}/steps',
    summary: 'The steps of the latest run of an event',
    answer: z.array(stepRecord),
    call: (operator, { path }) => operator.listSteps(path['eventId'] ?? ''),
  }),
  groups: route({
    ...READ,
    path: '/groups',
    summary: 'What is wrong, most frequent first',
    query: z.strictObject({
      state: z.enum(['dead', 'failed']).optional().describe('`dead` if left out.'),
      since: instant.optional().describe('Those that failed at this time or later.'),
      source,
      limit,
    }),
    answer: errorGroups,
    call: (operator, { query }) => operator.groups(query as GroupQuery),
  }),
  stats: route({
    ...READ,
    path: '/stats',
    summary:
      'How things stand: states, sources, the queue, rates, messages, workers, open transactions, pauses',
    query: z.strictObject({
      source,
      over: z.enum(['hour', 'day']).optional().describe('What `rates` are of: `hour` if left out.'),
    }),
    answer: collectedStats,
    call: (operator, { query }) => operator.stats(query as StatsQuery),
  }),
  findUnfinished: route({
    ...READ,
    path: '/unfinished',
    summary: 'What earlier processes have left, or what does not go on by itself',
    answer: unfinished,
    call: (operator) => operator.findUnfinished(),
  }),
  findByIdempotencyKey: route({
    ...READ,
    path: '/idempotency-keys',
    summary: 'The messages and steps that carried an idempotency key',
    query: z.strictObject({ key: z.string().describe('As another service has seen it.'), cursor }),
    answer: idempotencyKeyUses,
    call: (operator, { query }) => operator.findByIdempotencyKey(query.key, query.cursor),
  }),
  listMessages: route({
    ...READ,
    path: '/messages',
    summary: 'Messages that fit, newest first',
    query: z.strictObject({
      filter: z
        .string()
        .optional()
        .describe('Which messages, such as `state:dead destination:crm after:2h`. Left out: all.'),
      cursor,
      limit,
    }),
    answer: messagePage,
    call: (operator, { query }) =>
      operator.listMessages(asPage(parseMessageFilter(query.filter ?? ''), query)),
  }),
  findMessage: route({
    ...READ,
    path: '/messages/{id}',
    summary: 'A message with all that is known of it',
    answer: messageRecord,
    mayLack: true,
    call: (operator, { path }) => operator.findMessage(path['id'] ?? ''),
  }),
  listPauses: route({
    ...READ,
    path: '/pauses',
    summary: 'What is paused, with who did it, why and since when',
    answer: z.array(pauseRecord),
    call: (operator) => operator.listPauses(),
  }),
  listBulks: route({
    ...READ,
    path: '/bulks',
    summary: 'Actions on many events or messages that have some left, latest first',
    query: z.strictObject({
      all: flag.optional().describe('`true`: also those that have ended or were aborted.'),
      cursor: last,
      limit,
    }),
    answer: z.array(bulkRecord),
    call: (operator, { query }) => operator.bulk.list(query as ListBulksQuery),
  }),
  findBulk: route({
    ...READ,
    path: '/bulks/{id}',
    summary: 'How far an action on many events or messages has come',
    answer: bulkRecord,
    mayLack: true,
    call: (operator, { path }) => operator.bulk.find(path['id'] ?? ''),
  }),
  listSecrets: route({
    ...READ,
    path: '/secrets',
    summary: 'How much the secrets of sources are used, by their labels',
    query: z.strictObject({ source }),
    answer: z.array(secretUse),
    call: (operator, { query }) => operator.listSecrets(query as { source?: string }),
  }),
  listAudit: route({
    ...READ,
    path: '/audit',
    summary: 'What operators did, latest first',
    query: z.strictObject({
      eventId: z.string().optional().describe('What was done to this event. Left out: to any.'),
      cursor: last,
      limit,
    }),
    answer: z.array(auditRecord),
    call: (operator, { query }) => operator.listAudit(query as ListAuditQuery),
  }),
}

function asQuery(query: z.output<typeof page>): EventQuery {
  return asPage(parseFilter(query.filter ?? ''), query)
}

function asPage<Filter extends object>(
  filter: Filter,
  { cursor: from, limit: most }: z.output<typeof page>,
): Filter & { readonly cursor?: string; readonly limit?: number } {
  return {
    ...filter,
    ...(from !== undefined && { cursor: from }),
    ...(most !== undefined && { limit: most }),
  }
}
