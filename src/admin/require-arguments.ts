/**
 * What an operator's actions are given. They are typed by hand more often than any option, in a console or in
 * a script without types, and what the database says about a wrong one helps no person.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import { isDestinationName } from '../model/destination-name.ts'
import { MESSAGE_STATES } from '../model/message-state.ts'
import type { EventId } from '../model/event.ts'
import type { MessageQuery } from '../store/contract/messages.ts'
import type { AuditQuery } from '../store/contract/operators.ts'

/** How many are listed where nothing else was asked for. */
export const LIST_LIMIT = 100

export function requireText(
  argument: string,
  value: unknown,
  expected: string,
): asserts value is string {
  if (typeof value !== 'string') throw new OptionInvalidError(`admin.${argument}`, expected, value)
}

export function requireLimit(argument: string, limit: unknown): asserts limit is number {
  requireInteger(`admin.${argument}`, limit, { min: 1 })
}

/** What was done to one event, or to anything. */
export function requireAuditQuery(query: {
  readonly eventId?: EventId
  readonly limit?: number
}): AuditQuery {
  rejectUnknownKeys('admin.listAudit', query, ['eventId', 'limit'])
  const { eventId, limit = LIST_LIMIT } = query
  if (eventId !== undefined)
    requireText('listAudit.eventId', eventId, 'the id of an event, or left out')
  requireLimit('listAudit.limit', limit)
  return { subject: eventId === undefined ? undefined : { kind: 'event', id: eventId }, limit }
}

/** Of one source, or of all. */
export function requireSecretsQuery(query: { readonly source?: string }): string | undefined {
  rejectUnknownKeys('admin.listSecrets', query, ['source'])
  const { source } = query
  if (source !== undefined)
    requireText('listSecrets.source', source, 'the name of a source, or left out')
  return source
}

export function requireMessageQuery(
  query: Omit<MessageQuery, 'limit'> & { readonly limit?: number },
): MessageQuery {
  const path = 'admin.listMessages'
  rejectUnknownKeys(path, query, ['state', 'destination', 'limit'])
  const { state, destination, limit = LIST_LIMIT } = query
  requireOneOf(`${path}.state`, state, MESSAGE_STATES)
  if (
    destination !== undefined &&
    !(typeof destination === 'string' && isDestinationName(destination))
  )
    throw new OptionInvalidError(`${path}.destination`, 'the name of a destination', destination)
  requireLimit('listMessages.limit', limit)
  return { state, destination, limit }
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
