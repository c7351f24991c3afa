/**
 * What messages an operator asks for, and how that is checked.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { isDestinationName } from '../model/destination-name.ts'
import { highestId, isUuid, lowestId, lowestIdAt } from '../model/id-range.ts'
import { MESSAGE_STATES } from '../model/message-state.ts'
import type { MessageState } from '../model/message-state.ts'
import type { MessageId } from '../model/message.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import { LIST_LIMIT, requireDate, requireText } from './require-arguments.ts'

/** Which messages are meant. All of what is given must hold; without any of it, every message is. */
export interface MessageFilter {
  /** One state, or several. Left out: any. */
  readonly state?: MessageState | readonly MessageState[]
  /** The name of a destination. Left out: any. */
  readonly destination?: string
  /**
   * Stands somewhere in what its failed attempts say, or in the reason of its state. Big and small ASCII letters are
   * one. Left out: any.
   */
  readonly text?: string
  /** Written before this time, by the clock of the process that wrote it. Left out: up to now. */
  readonly before?: Date
  /** Written at this time or later, by the clock of the process that wrote it. Left out: from the first. */
  readonly after?: Date
}

/** What `admin.listMessages` is asked. */
export interface MessageQuery extends MessageFilter {
  /** That of the page before. Left out: from the newest. */
  readonly cursor?: string
  /**
   * How many messages a page has at most, up to 1,000.
   *
   * @defaultValue 100
   */
  readonly limit?: number
}

/** A filter, checked and whole. */
export interface ResolvedMessageFilter {
  readonly states: ReadonlySet<MessageState> | undefined
  readonly destination: string | undefined
  readonly text: string | undefined
  /** Ids below this one, and from the other one on. */
  readonly below: MessageId
  readonly from: MessageId
}

/** The same with how long a page is. */
export interface ResolvedMessageQuery extends ResolvedMessageFilter {
  readonly limit: number
}

const FILTER_KEYS = ['state', 'destination', 'text', 'before', 'after'] as const
const PAGE_MAX = 1_000

export function resolveMessageQuery(path: string, query: MessageQuery): ResolvedMessageQuery {
  rejectUnknownKeys(`admin.${path}`, query, [...FILTER_KEYS, 'cursor', 'limit'])
  const { cursor, limit = LIST_LIMIT, ...filter } = query
  requireInteger(`admin.${path}.limit`, limit, { min: 1, max: PAGE_MAX })
  if (cursor !== undefined && !isUuid(cursor))
    throw new OptionInvalidError(`admin.${path}.cursor`, 'the cursor of a page before', cursor)
  const resolved = resolveMessageFilter(path, filter)
  const below = cursor === undefined || cursor > resolved.below ? resolved.below : cursor
  return { ...resolved, below, limit }
}

export function resolveMessageFilter(path: string, filter: MessageFilter): ResolvedMessageFilter {
  rejectUnknownKeys(`admin.${path}`, filter, FILTER_KEYS)
  const { state, destination, text, before, after } = filter
  if (
    destination !== undefined &&
    !(typeof destination === 'string' && isDestinationName(destination))
  )
    throw new OptionInvalidError(
      `admin.${path}.destination`,
      'the name of a destination',
      destination,
    )
  if (text !== undefined) requireText(`${path}.text`, text, 'a text, or left out')
  return {
    states: state === undefined ? undefined : requireStates(`admin.${path}.state`, state),
    destination,
    // Everything has an empty text somewhere.
    text: text === '' ? undefined : text,
    below: before === undefined ? highestId : lowestIdAt(requireDate(path, 'before', before)),
    from: after === undefined ? lowestId : lowestIdAt(requireDate(path, 'after', after)),
  }
}

function requireStates(
  option: string,
  state: MessageState | readonly MessageState[],
): ReadonlySet<MessageState> {
  const states: readonly MessageState[] = Array.isArray(state) ? state : [state as MessageState]
  if (states.length === 0) throw new OptionInvalidError(option, 'at least one state', state)
  for (const each of states) requireOneOf(option, each, MESSAGE_STATES)
  return new Set(states)
}
