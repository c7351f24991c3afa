/**
 * Steps that tests of lanes take again and again, named after what they do.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { laneIdOf } from '../../../ordering/lane-id.ts'
import type { OrderMode } from '../../../ordering/order.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import type { ClaimedEvent } from '../../../store/contract/claimed-event.ts'
import type { PassedDeadline, SortRequest } from '../../../store/contract/lanes.ts'
import { eventually } from '../check.ts'
import { anEventDraft } from './builders.ts'
import { recordOne } from './store-steps.ts'
import type { AnyStore } from '../store-case.ts'

export function aLane(key: string, mode: OrderMode = 'fifo'): Placement['lane'] {
  return { id: laneIdOf('stripe', mode, key), source: 'stripe', mode, key }
}

/** The lane is what the key begins with: `K1` is in `K`. */
export const inFifo = ({ key }: ClaimedEvent): Placement => ({
  lane: aLane(key.slice(0, 1)),
  policy: 'block',
})

/** One after the other; their ids. */
export async function recordKeys(
  store: AnyStore,
  keys: readonly string[],
  type?: string,
): Promise<readonly string[]> {
  const ids: string[] = []
  for (const key of keys) {
    const draft = anEventDraft({ key, ...(type !== undefined && { type }) })
    ids.push((await recordOne(store, draft)).eventId)
  }
  return ids
}

interface SortSteps {
  readonly place?: (event: ClaimedEvent) => Placement
  readonly limit?: number
  readonly also?: readonly string[]
  /** Those that have an order; all, unless given. */
  readonly types?: readonly string[]
}

/** What a worker has found out when it is about to have it written. */
export async function decide(
  store: AnyStore,
  { place = inFifo, limit = 100, also = [], types }: SortSteps = {},
): Promise<SortRequest> {
  const found = await store.lanes.listUnsorted('stripe')
  const topicsOf = (isOrdered: boolean) =>
    found
      .filter(({ type }) => (types?.includes(type) ?? true) === isOrdered)
      .map(({ topic }) => topic)
  const request = { source: 'stripe', topics: topicsOf(true), limit, also }
  const events = await store.lanes.readUnsorted(request)
  const decided = events.map((event) => ({ event, becomes: place(event) }))
  return { ...request, unordered: topicsOf(false), decided }
}

/** The keys of what was sorted, in that order; `undefined` when another is at it, or a topic has appeared. */
export async function write(
  store: AnyStore,
  request: SortRequest,
): Promise<readonly string[] | undefined> {
  const result = await store.lanes.sort(request)
  return result.status === 'sorted' ? result.events.map(({ event }) => event.key) : undefined
}

/** The same, with the events as they are now. */
export async function sort(
  store: AnyStore,
  steps: SortSteps = {},
): Promise<readonly string[] | undefined> {
  return write(store, await decide(store, steps))
}

/** What has waited for long enough, once there is any. */
export async function passDeadlines(store: AnyStore): Promise<readonly PassedDeadline[]> {
  return eventually(async () => {
    const passed = await passLate(store)
    assert.notDeepEqual(passed, [])
    return passed
  })
}

/** The same, if there is any. */
export async function passLate(store: AnyStore): Promise<readonly PassedDeadline[]> {
  return store.lanes.passDeadlines({ late: await store.lanes.listLate(), limit: 10 })
}

export async function statesOf(
  store: AnyStore,
  ids: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const found = await Promise.all(ids.map((id) => store.operators.findEvent(id)))
  return found.map((event) => event?.state)
}
