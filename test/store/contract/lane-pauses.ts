import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { OrderMode } from '../../../src/ordering/order.ts'
import type { Placement } from '../../../src/ordering/place-event.ts'
import { aClaim } from '../../support/builders.ts'
import { aLane, recordKeys, sort, statesOf } from '../../support/lane-steps.ts'
import { LEASE_MS } from '../../support/lease-steps.ts'
import { act, claim, done, NO_ORDER, retryIn, runOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

const HEAD = { kind: 'head' } as const
const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const
const SLOT = { workerId: 'worker-1', slot: 0 }

/** What every store must do with a lane that an operator holds. */
export function lanePausesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a paused lane`, () => {
    test('holds its head and what comes after it, and no other lane', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2', 'L1'])
      await sort(store)

      expect(await store.pauses.pause(LANE_K, NO_ORDER)).toEqual({ status: 'done' })
      const [third = ''] = await recordKeys(store, ['K3'])
      await sort(store)

      expect(await statesOf(store, [...ids, third])).toEqual([
        'waiting',
        'waiting',
        'ready',
        'waiting',
      ])
      const group = await claim(store, { ...HEAD, limit: 10 })
      expect(group.events.map(({ key }) => key)).toEqual(['L1'])
      await group.abandon()
      expect(await store.operators.findEvent(ids[0] ?? '')).toMatchObject({
        lane: 'K',
        blockedBy: { reason: 'its lane is paused' },
      })
    })

    test.each<[OrderMode, (key: string) => Partial<Placement>]>([
      ['fifo', () => ({ policy: 'block' })],
      ['sequence', (key) => ({ number: Number(key.slice(1)), first: 1, waitMs: 60_000 })],
      ['latest', (key) => ({ place: `n${key}` })],
    ])('goes on where it was when it is resumed: %s', async (mode, at) => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1', 'K2', 'K3'])
      const place = ({ key }: { readonly key: string }): Placement => ({
        lane: aLane('K', mode),
        ...at(key),
      })
      await sort(store, { place })
      await runOne(store, done, HEAD)
      await store.pauses.pause(LANE_K, NO_ORDER)
      expect(await store.queue.claim(aClaim(HEAD))).toBeUndefined()

      expect(await store.pauses.resume(LANE_K, NO_ORDER)).toEqual({ status: 'done' })

      const ran: string[] = []
      for (let n = 0; n < 2; n += 1) {
        const group = await claim(store, HEAD)
        ran.push(...group.events.map(({ key }) => key))
        await group.settle(group.events.map(done))
        expect(await group.commit()).toEqual({ status: 'committed' })
      }
      expect(ran).toEqual(mode === 'latest' ? ['K2', 'K1'] : ['K2', 'K3'])
    })

    test('lets what a worker has in hand end, and holds it when it failed', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2'])
      const [first = ''] = ids
      await sort(store)
      // SQLite has one writer, and one that opens late does not have it yet.
      const group = await claim(store, { ...HEAD, slot: SLOT, opensLate: 'always' })
      await store.workers.announce(SLOT, [{ eventId: first, attempt: 1 }])

      await store.pauses.pause(LANE_K, NO_ORDER)

      expect(await statesOf(store, ids)).toEqual(['running', 'waiting'])
      await group.settle(group.events.map(retryIn(0)))
      expect(await group.commit()).toEqual({ status: 'committed' })
      await store.workers.announce(SLOT, [])
      expect(await statesOf(store, ids)).toEqual(['waiting', 'waiting'])
      await store.pauses.resume(LANE_K, NO_ORDER)
      expect(await statesOf(store, ids)).toEqual(['ready', 'waiting'])
    })

    test.each<[OrderMode, Partial<Placement>]>([
      ['fifo', { policy: 'block' }],
      ['after', { place: 'user.created', waitMs: 0, policy: 'run' }],
    ])('lets what is leased end, and holds it when it failed: %s', async (mode, at) => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1'])
      await sort(store, { place: () => ({ lane: aLane('K', mode), ...at }) })
      await expect
        .poll(async () => {
          await store.lanes.passDeadlines(10)
          return statesOf(store, ids)
        })
        .toEqual(['ready'])
      await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
      const group = await claim(store, HEAD)
      const [leased] = await group.lease({ workerId: 'worker-1', limit: 1, leaseMs: LEASE_MS })
      assert(leased)

      await store.pauses.pause(LANE_K, NO_ORDER)

      expect(await statesOf(store, ids)).toEqual(['running'])
      const settlement = retryIn(0)(leased)
      expect(await store.steps.settle([{ lease: leased.lease, settlement }])).toEqual([true])
      expect(await statesOf(store, ids)).toEqual(['waiting'])
    })

    test('holds events that wait for what they require, for their whole time again', async () => {
      const { store } = await openStore(underTest)
      const lane = aLane('K', 'after')
      const ids = await recordKeys(store, ['K1'])
      await sort(store, {
        place: () => ({ lane, place: 'user.created', waitMs: 0, policy: 'run' }),
      })
      await store.pauses.pause(LANE_K, NO_ORDER)
      // Another one comes, and the lane is looked at again.
      const later = await recordKeys(store, ['K2'])
      await sort(store, {
        place: () => ({ lane, place: 'user.created', waitMs: 0, policy: 'run' }),
      })

      expect(await store.lanes.passDeadlines(10)).toEqual([])
      expect(await statesOf(store, [...ids, ...later])).toEqual(['waiting', 'waiting'])
      await store.pauses.resume(LANE_K, NO_ORDER)
      await expect.poll(() => store.lanes.passDeadlines(10)).toHaveLength(2)
    })

    test('is listed with who, why and since when, once for all its modes', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1', 'K2'])
      await sort(store, {
        place: ({ key }) =>
          key === 'K1'
            ? { lane: aLane('K'), policy: 'block' }
            : { lane: aLane('K', 'latest'), place: 'n1' },
      })
      const order = { actor: 'ada', reason: 'merging\0', token: 'click-1' }

      expect(await store.pauses.pause(LANE_K, order)).toEqual({ status: 'done' })

      expect(await store.pauses.list()).toEqual([
        {
          ...LANE_K,
          actor: 'ada',
          reason: 'merging\ufffd',
          pausedAt: expect.any(Date) as Date,
        },
      ])
      // The same click once more, another one, and another thing under its token.
      expect(await store.pauses.pause(LANE_K, order)).toEqual({ status: 'done' })
      expect(await store.pauses.pause(LANE_K, NO_ORDER)).toMatchObject({ code: 'PAUSED' })
      expect(await store.pauses.resume(LANE_K, order)).toMatchObject({ code: 'TOKEN_USED' })
      const unknown = { ...LANE_K, name: 'nothing' }
      expect(await store.pauses.pause(unknown, NO_ORDER)).toMatchObject({ code: 'LANE_UNKNOWN' })
      expect(await store.pauses.resume(unknown, NO_ORDER)).toMatchObject({ code: 'NOT_PAUSED' })
      const subject = { kind: 'lane', id: 'stripe/K' } as const
      expect(await store.operators.listAudit({ subject, limit: 10 })).toMatchObject([
        { action: 'pause', actor: 'ada', token: 'click-1', outcome: { status: 'done' } },
      ])

      await store.pauses.resume(LANE_K, NO_ORDER)
      expect(await store.pauses.list()).toEqual([])
    })

    test('of a mode that no event had yet is paused with the others', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1'])
      await sort(store)
      await store.pauses.pause(LANE_K, NO_ORDER)

      const ids = await recordKeys(store, ['K2', 'L1'])
      await sort(store, {
        place: ({ key }) => ({ lane: aLane(key.slice(0, 1), 'latest'), place: 'n1' }),
      })

      expect(await statesOf(store, ids)).toEqual(['waiting', 'ready'])
      await store.pauses.resume(LANE_K, NO_ORDER)
      expect(await statesOf(store, ids)).toEqual(['ready', 'ready'])
    })

    test('of any text is paused, and found', async () => {
      const { store } = await openStore(underTest)
      const name = `${'\u4e00'.repeat(500)}${Array.from({ length: 500 }, (_, n) =>
        String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)),
      ).join('')}`
      const ids = await recordKeys(store, ['K1', 'K2'])
      await sort(store, { place: () => ({ lane: aLane(name), policy: 'block' }) })

      expect(await store.pauses.pause({ ...LANE_K, name }, NO_ORDER)).toEqual({ status: 'done' })

      expect(await store.pauses.list()).toMatchObject([{ name }])
      expect(await statesOf(store, ids)).toEqual(['waiting', 'waiting'])
      expect(await act(store, 'discard', ids[0] ?? '')).toMatchObject({ status: 'done' })
      expect(await statesOf(store, ids)).toEqual(['discarded', 'waiting'])
    })
  })
}
