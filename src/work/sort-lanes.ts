/**
 * Puts events of ordered handlers into their lanes, before any of them runs.
 *
 * The lane is a function of the payload, and a receiver may have no handlers: so it is a worker that sorts. That
 * function is the user's, and may take its time or never return: it is asked between reading and writing, when the
 * store holds nothing for it, and what was found out is written before it has all been asked.
 *
 * @module
 */

import { asError } from '../errors.ts'
import { LoopBreaks } from '../flow/loop-breaks.ts'
import type { EventId } from '../model/event.ts'
import { placeEvent } from '../ordering/place-event.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import type { DeadSettlement, DecidedEvent, SortResult } from '../store/contract/lanes.ts'
import type { Store } from '../store/contract/store.ts'
import type { HandlerRegistry } from './handler-registry.ts'
import { reportSettlement } from './report-settlement.ts'
import type { SettlementListener } from './report-settlement.ts'
import { failureSettlement } from './settlement.ts'

export interface SortContext extends SettlementListener {
  readonly store: Pick<Store<unknown>, 'lanes'>
  readonly handlers: HandlerRegistry
}

/** How many events are sorted in one transaction. */
const SORT_MAX = 500
/** For how long places are asked for before those that are known are written. */
const ASK_MS = 500
/** How often it begins anew because what it has read is no longer so. */
const TRIES_MAX = 5

/** What was sorted. */
export interface Sorted {
  readonly events: readonly ClaimedEvent[]
  /** Whether nothing is left of what there was when it began. */
  readonly isAll: boolean
}

/** Sorts events of the source; `undefined` when another worker is at it. */
export async function sortLanes(
  context: SortContext,
  source: string,
  also: readonly EventId[] = [],
): Promise<Sorted | undefined> {
  const errors = new Map<EventId, Error>()
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const { result, read } = await sortOnce(context, { source, also, errors })
    if (result.status === 'changed') continue
    if (result.status === 'busy') return undefined
    for (const { event, becomes } of result.events) {
      if (!('state' in becomes)) continue
      const error = errors.get(event.eventId)
      reportSettlement(context, { event, settlement: becomes, error })
    }
    const events = result.events.map(({ event }) => event)
    return { events, isAll: read < SORT_MAX && events.length === read }
  }
  return undefined
}

interface Sorting {
  readonly source: string
  readonly also: readonly EventId[]
  /** Why there is no place for an event. */
  readonly errors: Map<EventId, Error>
}

async function sortOnce(
  { store, handlers }: SortContext,
  { source, also, errors }: Sorting,
): Promise<{ readonly result: SortResult; readonly read: number }> {
  const found = await store.lanes.listUnsorted(source)
  const isOrdered = (type: string) => handlers.findUnit(source, type)?.order !== undefined
  const topics = found.filter(({ type }) => isOrdered(type)).map(({ topic }) => topic)
  const unordered = found.filter(({ type }) => !isOrdered(type)).map(({ topic }) => topic)
  const request = { source, topics, limit: SORT_MAX, also }
  const events = await store.lanes.readUnsorted(request)
  const read = events.length
  if (read === 0) return { result: { status: 'sorted', events: [] }, read }
  const decided = await decide(events, (event) => placeOrEnd(handlers, event, errors))
  const result = await store.lanes.sort({ ...request, unordered, decided })
  const isOvertaken = result.status === 'sorted' && result.events.length === 0
  return { result: isOvertaken ? { status: 'changed' } : result, read }
}

/** The first of them at least. */
async function decide(
  events: readonly ClaimedEvent[],
  ask: (event: ClaimedEvent) => DecidedEvent['becomes'],
): Promise<readonly DecidedEvent[]> {
  const startedAt = performance.now()
  const breaks = new LoopBreaks()
  const decided: DecidedEvent[] = []
  for (const event of events) {
    if (breaks.isDue) await breaks.take()
    if (decided.length > 0 && performance.now() - startedAt > ASK_MS) break
    decided.push({ event, becomes: ask(event) })
  }
  return decided
}

/** One without a place is dead at once: the same functions find no place for the same event the next time. */
function placeOrEnd(
  handlers: HandlerRegistry,
  event: ClaimedEvent,
  errors: Map<EventId, Error>,
): DecidedEvent['becomes'] {
  const unit = handlers.findUnit(event.source, event.type)
  const ordered = unit?.handlers.find(({ order }) => order === unit.order)
  if (unit?.order === undefined || ordered === undefined)
    throw new Error(`Event ${event.eventId} has no order`)
  try {
    if (event.unreadable !== undefined) throw event.unreadable
    return placeEvent(unit.order, event)
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
