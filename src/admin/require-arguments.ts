/**
 * What an operator's actions are given. They are typed by hand more often than any option, in a console or in
 * a script without types, and what the database says about a wrong one helps no person.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import type { EventId } from '../model/event.ts'
import { isUuid } from '../model/id-range.ts'
import type { AuditQuery, PageAbove, PageBelow } from '../store/contract/operators.ts'

/** A page of a list. */
export interface PageQuery {
  /** The `id` of the last one of the page before. Left out: from the first. */
  readonly cursor?: string
  /**
   * How many at most.
   *
   * @defaultValue 100
   */
  readonly limit?: number
}

/** What operators did, as `listAudit` is asked. */
export interface ListAuditQuery extends PageQuery {
  /** What was done to this event. Left out: to anything. */
  readonly eventId?: EventId
}

/** The runs of an event, as `listRuns` is asked. */
export interface ListRunsQuery {
  /** The `run` of the last one of the page before. Left out: from the first. */
  readonly cursor?: number
  /**
   * How many at most.
   *
   * @defaultValue 100
   */
  readonly limit?: number
}

/** How many are listed where nothing else was asked for. */
export const LIST_LIMIT = 100

export function requireText(
  argument: string,
  value: unknown,
  expected: string,
): asserts value is string {
  if (typeof value !== 'string') throw new OptionInvalidError(`admin.${argument}`, expected, value)
}

/**
 * The id of an event, a message or a bulk, as it is kept: one that was pasted may have capitals, or a space or an end
 * of line around it. Kept as it was typed, the audit would have an action under an id that nothing else has. What is no
 * id is left as it is, and is the id of nothing.
 */
export function requireId(argument: string, value: unknown, of: string): string {
  requireText(argument, value, `the id of ${of}`)
  const id = value.trim().toLowerCase()
  return isUuid(id) ? id : value
}

function requireLimit(argument: string, limit: unknown): asserts limit is number {
  requireInteger(`admin.${argument}`, limit, { min: 1 })
}

/** What is listed with the newest first, by its id. */
export function requirePageBelow(name: string, query: PageQuery): PageBelow<string> {
  const { above: below, limit } = requirePageAbove(name, query)
  return { below, limit }
}

/** What is listed with the oldest first, by its id. */
export function requirePageAbove(
  name: string,
  query: PageQuery,
): PageAbove<string> & { readonly limit: number } {
  requireQuery(name, query)
  rejectUnknownKeys(`admin.${name}`, query, ['cursor', 'limit'])
  const { cursor, limit = LIST_LIMIT } = query
  if (cursor !== undefined && !isUuid(cursor)) throw cursorInvalid(name, cursor)
  requireLimit(`${name}.limit`, limit)
  return { above: cursor, limit }
}

export function requireRunsPage(query: ListRunsQuery): PageAbove<number> {
  requireQuery('listRuns', query)
  rejectUnknownKeys('admin.listRuns', query, ['cursor', 'limit'])
  const { cursor, limit = LIST_LIMIT } = query
  if (cursor !== undefined)
    requireInteger('admin.listRuns.cursor', cursor, { min: 0, max: 2_147_483_647 })
  requireLimit('listRuns.limit', limit)
  return { above: cursor, limit }
}

/** A number has no members, and would be taken for an object without any option. */
function requireQuery(name: string, query: unknown): void {
  if (typeof query === 'object' && query !== null) return
  throw new OptionInvalidError(`admin.${name}`, 'given an object such as { limit: 100 }', query)
}

function cursorInvalid(name: string, cursor: unknown): OptionInvalidError {
  return new OptionInvalidError(
    `admin.${name}.cursor`,
    'the id of the last one of the page before',
    cursor,
  )
}

/** As rows are numbered: what is no number, or is too high for one, was never the id of a row. */
const AUDIT_ID = /^\d{1,18}$/

/** What was done to one event, or to anything. */
export function requireAuditQuery(query: ListAuditQuery): AuditQuery {
  rejectUnknownKeys('admin.listAudit', query, ['eventId', 'cursor', 'limit'])
  const { eventId, cursor, limit = LIST_LIMIT } = query
  if (cursor !== undefined && !(typeof cursor === 'string' && AUDIT_ID.test(cursor)))
    throw cursorInvalid('listAudit', cursor)
  requireLimit('listAudit.limit', limit)
  const subject =
    eventId === undefined
      ? undefined
      : ({
          kind: 'event',
          id: requireId('listAudit.eventId', eventId, 'an event, or left out'),
        } as const)
  return { subject, below: cursor, limit }
}

/** Of one source, or of all. */
export function requireSecretsQuery(query: { readonly source?: string }): string | undefined {
  rejectUnknownKeys('admin.listSecrets', query, ['source'])
  const { source } = query
  if (source !== undefined)
    requireText('listSecrets.source', source, 'the name of a source, or left out')
  return source
}

/** Its milliseconds since 1970. */
export function requireDate(path: string, name: string, date: unknown): number {
  const time = date instanceof Date ? date.getTime() : Number.NaN
  if (time >= 0) return time
  throw new OptionInvalidError(`admin.${path}.${name}`, 'a Date since 1970', date)
}

export function requireDecision<
  Decision extends { readonly happened: boolean; readonly handler?: string },
>(decision: Decision): Decision {
  const path = 'admin.resolveStep'
  rejectUnknownKeys(path, decision, ['happened', 'result', 'handler'])
  const { happened, handler } = decision
  if (typeof happened !== 'boolean')
    throw new OptionInvalidError(`${path}.happened`, 'true or false', happened)
  if (handler !== undefined)
    requireText('resolveStep.handler', handler, 'the name of a handler, or left out')
  return decision
}
