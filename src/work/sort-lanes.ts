/**
 * Puts events of ordered handlers into their lanes, before any of them runs.
 *
 * The lane is a function of the payload, and a receiver may have no handlers: so it is a worker that sorts.
 *
 * @module
 */

import { asError } from '../errors.ts'
import type { EventId } from '../model/event.ts'
import { placeEvent } from '../ordering/place-event.ts'
import type { Placement } from '../ordering/place-event.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import type { DeadSettlement } from '../store/contract/lanes.ts'
import type { Store } from '../store/contract/store.ts'
import type { HandlerRegistry } from './handlers.ts'
import { reportSettlement } from './report-settlement.ts'
import type { SettlementListener } from './report-settlement.ts'
import { failureSettlement } from './settlement.ts'

export interface SortContext extends SettlementListener {
  readonly store: Pick<Store<unknown>, 'lanes'>
  readonly handlers: HandlerRegistry
}

/** How many events are sorted in one transaction. */
const SORT_MAX = 500

/** Says which events of the source were sorted; `undefined` when another worker is at it. */
export async function sortLanes(
  context: SortContext,
  source: string,
  also: readonly EventId[] = [],
): Promise<readonly ClaimedEvent[] | undefined> {
  const { store, handlers } = context
  const errors = new Map<EventId, Error>()
  const sorted = await store.lanes.sort({
    source,
    isOrdered: (type) => handlers.findUnit(source, type)?.order !== undefined,
    place: (event) => placeOrEnd(handlers, event, errors),
    limit: SORT_MAX,
    also,
  })
  for (const { event, dead } of sorted ?? []) {
    if (dead === undefined) continue
    reportSettlement(context, { event, settlement: dead, error: errors.get(event.eventId) })
  }
  return sorted?.map(({ event }) => event)
}

/** One without a place is dead at once: the same functions find no place for the same event the next time. */
function placeOrEnd(
  handlers: HandlerRegistry,
  event: ClaimedEvent,
  errors: Map<EventId, Error>,
): Placement | DeadSettlement {
  const unit = handlers.findUnit(event.source, event.type)
  const ordered = unit?.handlers.find(({ order }) => order !== undefined)
  if (unit === undefined || ordered?.order === undefined)
    throw new Error(`Event ${event.eventId} has no order`)
  try {
    return placeEvent(ordered.order, event)
  } catch (thrown) {
    const error = asError(thrown)
    errors.set(event.eventId, error)
    const { name: handler, retry } = ordered
    const failed = {
      reason: 'order',
      error,
      handler,
      retry,
      isPermanent: true,
      durationMs: 0,
    } as const
    // Permanent, so that it is not to run again.
    return failureSettlement(event, unit.attemptsMax, failed) as DeadSettlement
  }
}
