/**
 * What an operator can see of events: the questions, each bounded in what it costs.
 *
 * @module
 */

import { highestId, isUuid, lowestId } from '../model/id-range.ts'
import type { EventSummary } from '../model/event-summary.ts'
import type { Store } from '../store/contract/store.ts'
import { resolveEventQuery } from './event-query.ts'
import type { EventQuery } from './event-query.ts'
import { listEvents } from './list-events.ts'
import type { EventPage } from './list-events.ts'
import { LIST_LIMIT, requireText } from './require-arguments.ts'

/** What an operator can see of events. Each question looks at a bounded number of rows, and says how many it was. */
export interface EventFinder {
  /**
   * The events that fit, newest first, without their bodies. A page may be empty and have a cursor all the same: it
   * has looked at 10,000 events by then, and the next page looks on.
   */
  list(query?: EventQuery): Promise<EventPage>
  /** By what a person was given: the id of an event, or the key that its sender knows it by. The newest 100 of them. */
  find(idOrKey: string): Promise<readonly EventSummary[]>
}

/** How a question reaches the store. */
export type Ask = <Result>(question: (store: Store<unknown>) => Promise<Result>) => Promise<Result>

export function createEventFinder(ask: Ask): EventFinder {
  return {
    list: async (query = {}) => {
      const resolved = resolveEventQuery('list', query)
      return ask((store) => listEvents(store.search, resolved))
    },
    find: async (idOrKey) => {
      requireText('find.idOrKey', idOrKey, 'the id of an event, or the key of its sender')
      return ask((store) => findByIdOrKey(store, idOrKey))
    },
  }
}

async function findByIdOrKey(
  { search }: Store<unknown>,
  idOrKey: string,
): Promise<readonly EventSummary[]> {
  const id = idOrKey.trim().toLowerCase()
  const byId = isUuid(id) ? await search.summarize([id]) : []
  const range = { below: highestId, from: lowestId, limit: LIST_LIMIT }
  const byKey = await search.walkKey(idOrKey, range)
  return [...byId, ...byKey.flatMap(({ summary }) => summary ?? [])]
}
