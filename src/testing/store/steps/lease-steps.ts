/**
 * Steps that tests of leases take again and again, named after what they do.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { TopicShare } from '../../../store/contract/claimed-event.ts'
import type { CallEntry, LeasedEvent, LeaseRequest } from '../../../store/contract/steps.ts'
import { aClaim } from './builders.ts'
import type { AnyStore } from '../store-case.ts'

/** Generous, because nothing here tests how long it is. */
export const LEASE_MS = 600_000

/** For what `anEventDraft` makes. */
export function aLeaseRequest(limit = 10): LeaseRequest {
  const [{ topic }] = aClaim().topics as readonly [TopicShare]
  return { workerId: 'worker-1', topics: [{ topic, limit }], leaseMs: LEASE_MS, aloneFrom: 2 }
}

/** Marks what is queued as events of step handlers. */
export async function makeLeasable(
  store: AnyStore,
  limit = 10,
  workerId = 'worker-1',
): Promise<void> {
  await store.workers.beat({ workerId, slots: 1, handles: [] })
  const slot = { workerId, slot: 0 }
  const { due } = await store.queue.look({ after: -1, limit: 100 })
  const of = due.map(({ source, type }) => [source, type] as const)
  const group = await store.queue.claim(aClaim({ slot, limit, of }))
  await group?.lease({ workerId, limit: 0, leaseMs: LEASE_MS })
}

export async function leaseAll(
  store: AnyStore,
  workerId = 'worker-1',
): Promise<readonly LeasedEvent[]> {
  await store.workers.beat({ workerId, slots: 1, handles: [] })
  return store.steps.lease({ ...aLeaseRequest(100), workerId })
}

/** Leases the one event that is queued. */
export async function leaseOne(store: AnyStore, workerId = 'worker-1'): Promise<LeasedEvent> {
  await makeLeasable(store, 10, workerId)
  const [leased] = await leaseAll(store, workerId)
  assert(leased, 'something should have been due')
  return leased
}

/** An entry about a call of the first step, which begins unless said otherwise. */
export function aCall({ lease }: LeasedEvent, input: Partial<CallEntry> = {}): CallEntry {
  return {
    lease,
    handler: 'h',
    position: 1,
    name: 'charge',
    change: 'started',
    result: undefined,
    ...input,
  }
}
