/**
 * How an event gets into each of its states, by what a store is asked to do and nothing else.
 *
 * @module
 */

import type { EventState } from '../../../model/event-state.ts'
import type { EventId } from '../../../model/event.ts'
import type { Settlement } from '../../../model/outcome.ts'
import type { ClaimedEvent } from '../../../store/contract/claimed-event.ts'
import type { AnyStore } from '../store-case.ts'
import { anEventDraft } from './builders.ts'
import { recordKeys, sort } from './lane-steps.ts'
import { leaseOne } from './lease-steps.ts'
import { act, dead, done, recordOne, runOne, skipped, unhandled } from './store-steps.ts'

/** A body that is not the one of {@link anEventDraft}. */
export const OTHER_CONTENT = '{"amount":2}'

/** How an event gets into each state; it is the only one that is due then. */
export const REACH: Readonly<
  Record<EventState, (store: AnyStore, key?: string) => Promise<EventId>>
> = {
  ready: async (store) => (await recordOne(store, anEventDraft())).eventId,
  running: async (store) => {
    await recordOne(store, anEventDraft())
    return (await leaseOne(store)).eventId
  },
  done: (store, key) => reachBy(store, done, key),
  dead: (store, key) => reachBy(store, dead, key),
  skipped: (store, key) => reachBy(store, skipped, key),
  unhandled: (store, key) => reachBy(store, unhandled, key),
  discarded: async (store) => {
    const { eventId } = await recordOne(store, anEventDraft())
    await act(store, 'discard', eventId)
    return eventId
  },
  conflict: async (store) => {
    await reachBy(store, done)
    return (await recordOne(store, anEventDraft({ body: OTHER_CONTENT }))).eventId
  },
  quarantined: async (store) =>
    (await recordOne(store, anEventDraft({ quarantine: 'outside the time window' }))).eventId,
  waiting: async (store) => {
    const [, second = ''] = await recordKeys(store, ['K1', 'K2'])
    await sort(store)
    return second
  },
}

async function reachBy(
  store: AnyStore,
  becomes: (event: ClaimedEvent) => Settlement,
  key = 'evt_1',
): Promise<EventId> {
  await recordOne(store, anEventDraft({ key }))
  return runOne(store, becomes)
}
