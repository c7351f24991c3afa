/**
 * Steps that tests of lanes take again and again, named after what they do.
 *
 * @module
 */

import { laneIdOf } from '../../src/ordering/lane-id.ts'
import type { OrderMode } from '../../src/ordering/order.ts'
import type { Placement } from '../../src/ordering/place-event.ts'
import type { ClaimedEvent } from '../../src/store/contract/claimed-event.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from './builders.ts'
import { recordOne } from './store-steps.ts'
import type { QueryTx } from './store-under-test.ts'

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
  store: Store<QueryTx>,
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

/** The keys of what was sorted, in that order; `undefined` when another is at it. */
export async function sort(
  store: Store<QueryTx>,
  {
    place = inFifo,
    limit = 100,
    also = [],
  }: {
    readonly place?: (event: ClaimedEvent) => Placement
    readonly limit?: number
    readonly also?: readonly string[]
  } = {},
): Promise<readonly string[] | undefined> {
  const request = { source: 'stripe', isOrdered: () => true, place, limit, also }
  const sorted = await store.lanes.sort(request)
  return sorted?.map(({ event }) => event.key)
}

export async function statesOf(
  store: Store<QueryTx>,
  ids: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const found = await Promise.all(ids.map((id) => store.operators.findEvent(id)))
  return found.map((event) => event?.state)
}
