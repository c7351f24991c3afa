/**
 * Erases every event of a source that has a value in its payload: what `list` finds, page by page, each in a
 * transaction of its own.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { EventId } from '../model/event.ts'
import type { EventSearchStore } from '../store/contract/event-search.ts'
import type { ActionRefused, EventActionResult } from './action-result.ts'
import type { PayloadCondition, ResolvedEventQuery } from './event-query.ts'
import { resolveEventFilter } from './event-query.ts'
import { listEvents } from './list-events.ts'
import { LIST_LIMIT } from './require-arguments.ts'

/** A value in a payload, by where it stands. */
export interface EraseWhere extends PayloadCondition {
  /** What stands there, and not nothing. A text also finds a number that is written so. */
  readonly equals: string | number | boolean
}

/** What became of `eraseWhere`. */
export interface EraseWhereResult {
  readonly status: 'done'
  /** How many events have lost their bytes. */
  readonly erased: number
  /** How many events were looked at, of whatever source. */
  readonly lookedAt: number
  /** Events with the value that could not be erased, each with why and what to do. */
  readonly refused: readonly (ActionRefused & { readonly eventId: EventId })[]
}

/** @throws OptionInvalidError for a path that cannot be read, or no value */
export function requireEraseWhere(where: EraseWhere, source: string): ResolvedEventQuery {
  const option = 'admin.eraseWhere'
  if (typeof where !== 'object' || where === null)
    throw new OptionInvalidError(option, 'given an object with path and equals', where)
  // An empty text would be an id that was forgotten, and erase whatever has none.
  const { equals }: { readonly equals: unknown } = where
  if (equals === '' || equals === null)
    throw new OptionInvalidError(
      `${option}.where.equals`,
      'a text that is not empty, a number, true or false',
      equals,
    )
  return { ...resolveEventFilter('eraseWhere', { source, where }), limit: LIST_LIMIT }
}

export async function eraseWhere(
  search: EventSearchStore,
  query: ResolvedEventQuery,
  erase: (eventId: EventId) => Promise<EventActionResult>,
): Promise<EraseWhereResult> {
  const refused: EraseWhereResult['refused'][number][] = []
  let erased = 0
  let lookedAt = 0
  let { below } = query
  for (;;) {
    const page = await listEvents(search, { ...query, below })
    for (const { id: eventId } of page.events) {
      const result = await erase(eventId)
      if (result.status === 'done') erased += 1
      else refused.push({ ...result, eventId })
    }
    lookedAt += page.lookedAt
    if (page.cursor === undefined) return { status: 'done', erased, lookedAt, refused }
    below = page.cursor
  }
}
