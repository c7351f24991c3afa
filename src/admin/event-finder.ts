/**
 * What an operator can see of events: the questions, each bounded in what it costs.
 *
 * @module
 */

import { highestId, isUuid, lowestId } from '../model/id-range.ts'
import type { EventId } from '../model/event.ts'
import type { IdempotencyKeyUses } from '../model/event-story.ts'
import type { EventSummary } from '../model/event-summary.ts'
import type { Unfinished } from '../model/unfinished.ts'
import type { Store } from '../store/contract/store.ts'
import type { Act } from './act.ts'
import { collectStats, resolveStatsQuery } from './collect-stats.ts'
import type { CollectedStats, StatsQuery } from './collect-stats.ts'
import { collectUnfinished } from './collect-unfinished.ts'
import { resolveEventQuery } from './event-query.ts'
import type { EventQuery } from './event-query.ts'
import { findIdempotencyKey, requireStepCursor } from './find-idempotency-key.ts'
import { groupErrors, resolveGroupQuery } from './group-errors.ts'
import type { ErrorGroups, GroupQuery } from './group-errors.ts'
import { listEvents } from './list-events.ts'
import type { EventPage } from './list-events.ts'
import { WITHOUT_SUCCESS } from './search-places.ts'
import { LIST_LIMIT, requireId, requireText } from './require-arguments.ts'
import { showEvent } from './show-event.ts'
import type { ShownEvent } from './show-event.ts'

/** What an operator can see of events. Each question looks at a bounded number of rows, and says how many it was. */
export interface EventFinder {
  /**
   * The events that fit, newest first, without their bodies. A page may be empty and have a cursor all the same: it
   * has looked at 10,000 events by then, and the next page looks on.
   */
  list(query?: EventQuery): Promise<EventPage>
  /**
   * What did not succeed and will not by itself, with the reason of each: dead, skipped, and parked for a person.
   * `state` may narrow it.
   */
  failures(query?: EventQuery): Promise<EventPage>
  /** By what a person was given: the id of an event, or the key that its sender knows it by. The newest 100 of them. */
  find(idOrKey: string): Promise<readonly EventSummary[]>
  /** The whole story of an event: what came, what ran, what it did and what it sent. `undefined` when it is not here. */
  show(eventId: EventId): Promise<ShownEvent | undefined>
  /** What is wrong, most frequent first: events that are dead, or that failed and will run again, by what they failed of. */
  groups(query?: GroupQuery): Promise<ErrorGroups>
  /** How things stand: events by state and source, what is due, rates, messages, workers and what they run. */
  stats(query?: StatsQuery): Promise<CollectedStats>
  /**
   * What earlier processes have left, or what does not go on by itself: events of workers that give no sign of life,
   * messages that may have arrived, lanes that stand still, and whether the database went back in time. The same is
   * looked at when an inbox starts (`inbox.found-at-start`).
   */
  findUnfinished(): Promise<Unfinished>
  /**
   * From an idempotency key that another service has seen, to the messages and the steps that carried it. Steps are
   * looked at newest first, 10,000 at most; `cursor` looks on. A key that a handler asked for under a name of its own
   * is not kept anywhere, and is not found.
   */
  findByIdempotencyKey(key: string, cursor?: string): Promise<IdempotencyKeyUses>
}

export function createEventFinder(act: Act): EventFinder {
  return {
    list: async (query = {}) => {
      const resolved = resolveEventQuery('list', query)
      return act((store) => listEvents(store.search, resolved))
    },
    failures: async (query = {}) => {
      const resolved = resolveEventQuery('failures', query)
      const states = resolved.states ?? new Set(WITHOUT_SUCCESS)
      return act((store) => listEvents(store.search, { ...resolved, states }))
    },
    find: async (idOrKey) => {
      requireText('find.idOrKey', idOrKey, 'the id of an event, or the key of its sender')
      return act((store) => findByIdOrKey(store, idOrKey))
    },
    show: async (given) => {
      const eventId = requireId('show.eventId', given, 'an event')
      return act((store) => showEvent(store, eventId))
    },
    groups: async (query = {}) => {
      const resolved = resolveGroupQuery(query)
      return act(({ search }) => groupErrors(search, resolved))
    },
    stats: async (query = {}) => {
      const resolved = resolveStatsQuery(query)
      return act((store) => collectStats(store, resolved))
    },
    findUnfinished: async () => act(collectUnfinished),
    findByIdempotencyKey: async (key, cursor) => {
      requireText('findByIdempotencyKey.key', key, 'an idempotency key')
      const start =
        cursor === undefined
          ? undefined
          : requireStepCursor('admin.findByIdempotencyKey.cursor', cursor)
      return act(({ search }) => findIdempotencyKey(search, key, start))
    },
  }
}

async function findByIdOrKey(
  { search }: Store<unknown>,
  idOrKey: string,
): Promise<readonly EventSummary[]> {
  // What was pasted may have a space or an end of line around it; a key may also be kept with one.
  const pasted = idOrKey.trim()
  const id = pasted.toLowerCase()
  const byId = isUuid(id) ? await search.summarize([id]) : []
  const range = { below: highestId, from: lowestId, limit: LIST_LIMIT }
  const asGiven = await search.walkKey(idOrKey, range)
  const byKey = asGiven.length > 0 ? asGiven : await search.walkKey(pasted, range)
  return [...byId, ...byKey.flatMap(({ summary }) => summary ?? [])]
}
