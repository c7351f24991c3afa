import assert from 'node:assert/strict'
import { eventually } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'
import { topicOf } from '../../../model/topic.ts'
import type { ClaimRequest } from '../../../store/contract/queue.ts'
import { aClaim, DRAFTED } from '../steps/builders.ts'
import { recordKeys, sort } from '../steps/lane-steps.ts'
import { aLeaseRequest, LEASE_MS } from '../steps/lease-steps.ts'
import {
  claim,
  nextDueInMs,
  NO_ORDER,
  retryIn,
  runOne,
  sweepOthers,
  unhandled,
} from '../steps/store-steps.ts'

/** How the head of a lane comes back to the queue when its lane is paused, and who could take it then. */
interface LetGo {
  readonly name: string
  /** What happens before the pause. Returns what happens after it. */
  readonly hold: (store: AnyStore, eventId: string) => Promise<() => Promise<unknown>>
  /** The keys of what can be taken. */
  readonly take: (store: AnyStore) => Promise<readonly string[]>
}

const LET_GO: readonly LetGo[] = [
  {
    name: 'a worker gave back',
    hold: (store, eventId) => claimToAbandon(store, 'head', { eventId, attempt: 1 }),
    take: (store) => claimKeys(store, 'head'),
  },
  {
    name: 'a worker gave back that had failed before',
    hold: async (store, eventId) => {
      await runOne(store, retryIn(0), HEAD)
      return claimToAbandon(store, 'again', { eventId, attempt: 2 })
    },
    take: (store) => claimKeys(store, 'again'),
  },
  {
    name: 'a worker was running when it died',
    hold: async (store, eventId) => {
      await store.workers.announce(OTHER, [{ eventId, attempt: 1 }])
      return () => sweepOthers(store, { me: SLOT.workerId })
    },
    take: (store) => claimKeys(store, 'suspect'),
  },
  {
    name: 'a worker had leased when it died',
    hold: async (store) => {
      await leaseHead(store, OTHER.workerId, LEASE_MS)
      return () => sweepOthers(store, { me: SLOT.workerId })
    },
    take: (store) => leaseKeys(store, { aloneFrom: 1 }),
  },
  {
    name: 'a worker had leased without knowing',
    hold: async (store) => {
      await leaseHead(store, SLOT.workerId, 1)
      return () =>
        eventually(async () =>
          assert.equal(await store.steps.giveBackForgotten(SLOT.workerId, []), 1),
        )
    },
    take: (store) => leaseKeys(store, { aloneFrom: 2 }),
  },
  {
    name: 'had no handler until then',
    hold: async (store) => {
      await runOne(store, unhandled, HEAD)
      return () => store.queue.wakeUnhandled([topicOf(...DRAFTED)], 10)
    },
    take: (store) => claimKeys(store, 'head'),
  },
]

export const pausedHeadCases: readonly StoreCase[] = [
  ...casesOf('a paused lane', [
    ...LET_GO.map(({ name, hold, take }): StoreCase => ({
      name: `keeps a head that ${name}, and goes on with it`,
      run: async (open) => {
        const { store } = await open()
        const [first = ''] = await recordKeys(store, ['K1', 'K2'])
        await sort(store)
        const letGo = await hold(store, first)
        assert.deepEqual(await store.pauses.pause(LANE_K, NO_ORDER), { status: 'done' })

        await letGo()

        assert.deepEqual(await take(store), [])
        // Told that it is due, an idle worker would ask for it again and again.
        assert.equal(await nextDueInMs(store), undefined)
        assert.deepEqual(await store.pauses.resume(LANE_K, NO_ORDER), { status: 'done' })
        assert.equal(await nextDueInMs(store), 0)
        assert.deepEqual(await take(store), ['K1'])
      },
    })),
  ]),
]

const HEAD = { kind: 'head' } as const

const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const

const SLOT = { workerId: 'worker-1', slot: 0 }
const OTHER = { workerId: 'worker-2', slot: 0 }

async function claimToAbandon(
  store: AnyStore,
  kind: ClaimRequest['kind'],
  running: { readonly eventId: string; readonly attempt: number },
): Promise<() => Promise<void>> {
  // SQLite has one writer, and a group that opens late does not have it yet.
  const group = await claim(store, { kind, limit: 1, slot: SLOT, opensLate: 'always' })
  await store.workers.announce(SLOT, [running])
  return async () => {
    await group.abandon()
    await store.workers.announce(SLOT, [])
  }
}

async function leaseHead(store: AnyStore, workerId: string, leaseMs: number): Promise<void> {
  await store.workers.beat({ workerId, slots: 1, handles: [] })
  const group = await claim(store, { ...HEAD, limit: 1, slot: { workerId, slot: 0 } })
  assert.equal((await group.lease({ workerId, limit: 1, leaseMs })).length, 1)
}

async function claimKeys(store: AnyStore, kind: ClaimRequest['kind']): Promise<readonly string[]> {
  const group = await store.queue.claim(aClaim({ kind, slot: SLOT }))
  const keys = group?.events.map(({ key }) => key) ?? []
  await group?.abandon()
  return keys
}

async function leaseKeys(
  store: AnyStore,
  { aloneFrom }: { readonly aloneFrom: number },
): Promise<readonly string[]> {
  await store.workers.beat({ workerId: SLOT.workerId, slots: 1, handles: [] })
  const leased = await store.steps.lease({ ...aLeaseRequest(), aloneFrom })
  return leased.map(({ key }) => key)
}
