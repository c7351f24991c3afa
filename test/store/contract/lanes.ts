import { describe, expect, test } from 'vitest'
import { aClaim } from '../../support/builders.ts'
import { aLane, recordKeys, sort, statesOf } from '../../support/lane-steps.ts'
import { LEASE_MS } from '../../support/lease-steps.ts'
import {
  act,
  claim,
  dead,
  done,
  NO_ORDER,
  retryIn,
  runOne,
  sweepOthers,
} from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

const HEAD = { kind: 'head' } as const
const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const

/** What every store must do with lanes. */
export function lanesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: lanes`, () => {
    test('an event that is not sorted is no head, and one that is sorted is not fresh', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2', 'L1'])
      expect(await store.queue.claim(aClaim(HEAD))).toBeUndefined()

      expect(await sort(store)).toEqual(['K1', 'K2', 'L1'])

      expect(await store.queue.claim(aClaim())).toBeUndefined()
      expect(await statesOf(store, ids)).toEqual(['ready', 'waiting', 'ready'])
      const group = await claim(store, HEAD)
      expect(group.events.map(({ key, lane }) => [key, lane?.key])).toEqual([
        ['K1', 'K'],
        ['L1', 'L'],
      ])
      await group.abandon()
    })

    test('a look tells of heads', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1', 'K2'])
      await sort(store)

      const { due } = await store.queue.look({ after: -1, limit: 10 })

      expect(due.map(({ kind, type }) => [kind, type])).toEqual([['head', 'invoice.paid']])
    })

    test('O03: events are sorted in the order of storing, whatever their types', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1'], 'z')
      await recordKeys(store, ['K2'], 'a')
      await recordKeys(store, ['K3'], 'z')

      expect(await sort(store, { limit: 2 })).toEqual(['K1', 'K2'])
      expect(await sort(store, { limit: 2 })).toEqual(['K3'])
      expect(await sort(store, { limit: 2 })).toEqual([])
    })

    test.each([
      ['done', done, 'ready'],
      ['dead', dead, 'waiting'],
      ['to be retried', retryIn(3_600_000), 'waiting'],
    ] as const)('behind a head that is %s', async (_, becomes, expected) => {
      const { store } = await openStore(underTest)
      const [, next = ''] = await recordKeys(store, ['K1', 'K2'])
      await sort(store)

      await runOne(store, becomes, HEAD)

      expect(await statesOf(store, [next])).toEqual([expected])
    })

    test('behind a head whose transaction was lost for the last time the lane waits', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2'])
      await sort(store)
      const group = await claim(store, HEAD)
      await group.abandon()
      await store.workers.announce({ workerId: 'worker-1', slot: 0 }, [])

      for (const event of group.events) await store.queue.settleLost(dead(event))

      expect(await statesOf(store, ids)).toEqual(['dead', 'waiting'])
    })

    test.each([
      ['block', 'waiting'],
      ['pass', 'ready'],
    ] as const)('a head that crashed too often is dead, and with %s', async (policy, expected) => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2'])
      await sort(store, { place: () => ({ lane: aLane('K'), policy }) })
      const slot = { workerId: 'worker-1', slot: 0 }
      await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
      const group = await claim(store, { ...HEAD, slot, opensLate: 'always' })
      const running = group.events.map(({ eventId, attempt }) => ({ eventId, attempt }))
      await store.workers.announce(slot, running)
      if (!underTest.capabilities.opensLate) await group.abandon()

      await sweepOthers(store, { me: 'worker-2', crashesMax: 1 })

      expect(await statesOf(store, ids)).toEqual(['dead', expected])
      await group.abandon()
    })

    test.each([
      ['done', done, 'ready'],
      ['dead', dead, 'waiting'],
    ] as const)('behind a leased head that is %s', async (_, becomes, expected) => {
      const { store } = await openStore(underTest)
      const [, next = ''] = await recordKeys(store, ['K1', 'K2'])
      await sort(store)
      await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
      const group = await claim(store, HEAD)
      const [leased] = await group.lease({ workerId: 'worker-1', limit: 1, leaseMs: LEASE_MS })

      expect(leased?.lane?.key).toBe('K')
      const settlement = leased && becomes(leased)
      if (leased && settlement) await store.steps.settle([{ lease: leased.lease, settlement }])

      expect(await statesOf(store, [next])).toEqual([expected])
    })

    test('a leased head that crashed too often is dead, and blocks its lane', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2'])
      await sort(store)
      await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
      const group = await claim(store, HEAD)
      await group.lease({ workerId: 'worker-1', limit: 1, leaseMs: LEASE_MS })

      await sweepOthers(store, { me: 'worker-2', crashesMax: 1 })

      expect(await statesOf(store, ids)).toEqual(['dead', 'waiting'])
    })

    test('a head that is discarded lets the next one go, and one that waits leaves its lane', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2', 'K3'])
      await sort(store)
      const [first = '', second = ''] = ids

      expect(await act(store, 'discard', first)).toMatchObject({ status: 'done' })
      expect(await statesOf(store, ids)).toEqual(['discarded', 'ready', 'waiting'])
      expect(await act(store, 'discard', second)).toMatchObject({ status: 'done' })
      expect(await statesOf(store, ids)).toEqual(['discarded', 'discarded', 'ready'])
    })

    test('Y05: an event that is replayed joins its lane', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2'])
      await sort(store)
      await runOne(store, done, HEAD)
      const [first = ''] = ids

      expect(await act(store, 'replay', first)).toMatchObject({ status: 'done', run: 1 })
      await sort(store)

      expect((await statesOf(store, ids)).toSorted()).toEqual(['ready', 'waiting'])
      await runOne(store, done, HEAD)
      await runOne(store, done, HEAD)
      expect(await statesOf(store, ids)).toEqual(['done', 'done'])
    })

    test('O02: a dead event that is retried blocks its lane until it is sorted again', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2'])
      await sort(store)
      await runOne(store, dead, HEAD)
      const [first = ''] = ids

      await act(store, 'retry', first)

      expect(await store.lanes.mendBlocked(10)).toBe(0)
      expect(await statesOf(store, ids)).toEqual(['ready', 'waiting'])
      expect(await sort(store)).toEqual(['K1'])
      expect(await statesOf(store, ids)).toEqual(['ready', 'waiting'])
      await runOne(store, done, HEAD)
      expect(await statesOf(store, ids)).toEqual(['done', 'ready'])
    })

    test('an event that was tried before it had an order is sorted when asked for', async () => {
      const { store } = await openStore(underTest)
      const [id = ''] = await recordKeys(store, ['K1'])
      await runOne(store, retryIn(0))

      expect(await sort(store)).toEqual([])
      expect(await sort(store, { also: [id] })).toEqual(['K1'])

      expect((await store.operators.findEvent(id))?.lane).toBe('K')
      const group = await claim(store, { kind: 'again' })
      expect(group.events.map(({ lane }) => lane?.key)).toEqual(['K'])
      await group.abandon()
    })

    test('a lane that is paused passes no deadline', async () => {
      const { store } = await openStore(underTest)
      const lane = aLane('K', 'sequence')
      const [id = ''] = await recordKeys(store, ['K5'])
      await sort(store, {
        place: () => ({ lane, number: 5, first: 1, waitMs: 0, policy: 'run' }),
      })

      await store.pauses.pause(LANE_K, NO_ORDER)

      expect(await store.lanes.passDeadlines(10)).toEqual([])
      await store.pauses.resume(LANE_K, NO_ORDER)
      await expect.poll(() => store.lanes.passDeadlines(10)).toMatchObject([{ becomes: 'ready' }])
      expect(await statesOf(store, [id])).toEqual(['ready'])
    })

    test('O05: lanes whose ids begin alike are lanes of their own', async () => {
      const { store } = await openStore(underTest)
      const keys = Array.from({ length: 16 }, (_, at) => `K${at}`)
      await recordKeys(store, keys)
      await sort(store, {
        place: ({ key }) => {
          const end = Number(key.slice(1)).toString(16).padStart(12, '0')
          const id = `00000000-0000-0000-0000-${end}`
          return { lane: { ...aLane(key), id }, policy: 'block' }
        },
      })

      const group = await claim(store, { ...HEAD, limit: 16 })

      expect(group.events.map(({ key }) => key).sort()).toEqual(keys.toSorted())
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
    })
  })
}
