import assert from 'node:assert/strict'
import { assertMatches, eventually } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import type { OrderMode } from '../../../ordering/order.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import { aClaim } from '../steps/builders.ts'
import { aLane, passLate, recordKeys, sort, statesOf } from '../steps/lane-steps.ts'
import { LEASE_MS } from '../steps/lease-steps.ts'
import { act, claim, done, NO_ORDER, retryIn, runOne } from '../steps/store-steps.ts'

/** Where the events of a lane are put, by the lane's mode. */
const RESUMED: readonly (readonly [OrderMode, (key: string) => Partial<Placement>])[] = [
  ['fifo', () => ({ policy: 'block' })],
  ['sequence', (key) => ({ number: Number(key.slice(1)), first: 1, waitMs: 60_000 })],
  ['latest', (key) => ({ place: `n${key}` })],
]

export const lanePauseCases: readonly StoreCase[] = [
  ...casesOf('a paused lane', [
    {
      name: 'holds its head and what comes after it, and no other lane',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2', 'L1'])
        await sort(store)

        assert.deepEqual(await store.pauses.pause(LANE_K, NO_ORDER), { status: 'done' })
        const [third = ''] = await recordKeys(store, ['K3'])
        await sort(store)

        assert.deepEqual(await statesOf(store, [...ids, third]), [
          'waiting',
          'waiting',
          'ready',
          'waiting',
        ])
        const group = await claim(store, { ...HEAD, limit: 10 })
        assert.deepEqual(
          group.events.map(({ key }) => key),
          ['L1'],
        )
        await group.abandon()
        assertMatches(await store.operators.findEvent(ids[0] ?? ''), {
          lane: 'K',
          blockedBy: { reason: 'its lane is paused' },
        })
      },
    },

    ...RESUMED.map(([mode, at]): StoreCase => ({
      name: `goes on where it was when it is resumed: ${mode}`,
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1', 'K2', 'K3'])
        const place = ({ key }: { readonly key: string }): Placement => ({
          lane: aLane('K', mode),
          ...at(key),
        })
        await sort(store, { place })
        await runOne(store, done, HEAD)
        await store.pauses.pause(LANE_K, NO_ORDER)
        assert.equal(await store.queue.claim(aClaim(HEAD)), undefined)

        assert.deepEqual(await store.pauses.resume(LANE_K, NO_ORDER), { status: 'done' })

        const ran: string[] = []
        for (let n = 0; n < 2; n += 1) {
          const group = await claim(store, HEAD)
          ran.push(...group.events.map(({ key }) => key))
          await group.settle(group.events.map(done))
          assert.deepEqual(await group.commit(), { status: 'committed' })
        }
        assert.deepEqual(ran, mode === 'latest' ? ['K2', 'K1'] : ['K2', 'K3'])
      },
    })),

    {
      name: 'lets what a worker has in hand end, and holds it when it failed',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2'])
        const [first = ''] = ids
        await sort(store)
        // SQLite has one writer, and one that opens late does not have it yet.
        const group = await claim(store, { ...HEAD, slot: SLOT, opensLate: 'always' })
        await store.workers.announce(SLOT, [{ eventId: first, attempt: 1 }])

        await store.pauses.pause(LANE_K, NO_ORDER)

        assert.deepEqual(await statesOf(store, ids), ['running', 'waiting'])
        await group.settle(group.events.map(retryIn(0)))
        assert.deepEqual(await group.commit(), { status: 'committed' })
        await store.workers.announce(SLOT, [])
        assert.deepEqual(await statesOf(store, ids), ['waiting', 'waiting'])
        await store.pauses.resume(LANE_K, NO_ORDER)
        assert.deepEqual(await statesOf(store, ids), ['ready', 'waiting'])
      },
    },

    ...(
      [
        ['fifo', { policy: 'block' }],
        ['after', { place: 'user.created', waitMs: 0, policy: 'run' }],
      ] as const
    ).map(([mode, at]): StoreCase => ({
      name: `lets what is leased end, and holds it when it failed: ${mode}`,
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1'])
        await sort(store, { place: () => ({ lane: aLane('K', mode), ...at }) })
        await eventually(async () => {
          await passLate(store)
          assert.deepEqual(await statesOf(store, ids), ['ready'])
        })
        await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
        const group = await claim(store, HEAD)
        const [leased] = await group.lease({ workerId: 'worker-1', limit: 1, leaseMs: LEASE_MS })
        assert(leased)

        await store.pauses.pause(LANE_K, NO_ORDER)

        assert.deepEqual(await statesOf(store, ids), ['running'])
        const settlement = retryIn(0)(leased)
        assert.deepEqual(await store.steps.settle([{ lease: leased.lease, settlement }]), [true])
        assert.deepEqual(await statesOf(store, ids), ['waiting'])
      },
    })),

    {
      name: 'holds events that wait for what they require, for their whole time again',
      run: async (open) => {
        const { store } = await open()
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

        assert.deepEqual(await passLate(store), [])
        assert.deepEqual(await statesOf(store, [...ids, ...later]), ['waiting', 'waiting'])
        await store.pauses.resume(LANE_K, NO_ORDER)
        await eventually(async () => assert.equal((await passLate(store)).length, 2))
      },
    },

    {
      name: 'is listed with who, why and since when, once for all its modes',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1', 'K2'])
        await sort(store, {
          place: ({ key }) =>
            key === 'K1'
              ? { lane: aLane('K'), policy: 'block' }
              : { lane: aLane('K', 'latest'), place: 'n1' },
        })
        const order = { actor: 'ada', reason: 'merging\0', token: 'click-1' }

        assert.deepEqual(await store.pauses.pause(LANE_K, order), { status: 'done' })

        const [paused, ...others] = await store.pauses.list()
        assertMatches(paused, { ...LANE_K, actor: 'ada', reason: 'merging\ufffd' })
        assert.ok(paused?.pausedAt instanceof Date)
        assert.deepEqual(others, [])
        // The same click once more, another one, and another thing under its token.
        assert.deepEqual(await store.pauses.pause(LANE_K, order), { status: 'done' })
        assertMatches(await store.pauses.pause(LANE_K, NO_ORDER), { code: 'PAUSED' })
        assertMatches(await store.pauses.resume(LANE_K, order), { code: 'TOKEN_USED' })
        const unknown = { ...LANE_K, name: 'nothing' }
        assertMatches(await store.pauses.pause(unknown, NO_ORDER), { code: 'LANE_UNKNOWN' })
        assertMatches(await store.pauses.resume(unknown, NO_ORDER), { code: 'NOT_PAUSED' })
        const subject = { kind: 'lane', id: 'stripe/K' } as const
        assertMatches(await store.operators.listAudit({ subject, limit: 10 }), [
          { action: 'pause', actor: 'ada', token: 'click-1', outcome: { status: 'done' } },
        ])

        await store.pauses.resume(LANE_K, NO_ORDER)
        assert.deepEqual(await store.pauses.list(), [])
      },
    },

    {
      name: 'of a mode that no event had yet is paused with the others',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1'])
        await sort(store)
        await store.pauses.pause(LANE_K, NO_ORDER)

        const ids = await recordKeys(store, ['K2', 'L1'])
        await sort(store, {
          place: ({ key }) => ({ lane: aLane(key.slice(0, 1), 'latest'), place: 'n1' }),
        })

        assert.deepEqual(await statesOf(store, ids), ['waiting', 'ready'])
        await store.pauses.resume(LANE_K, NO_ORDER)
        assert.deepEqual(await statesOf(store, ids), ['ready', 'ready'])
      },
    },

    {
      name: 'of any text is paused, and found',
      run: async (open) => {
        const { store } = await open()
        const name = `${'\u4e00'.repeat(500)}${Array.from({ length: 500 }, (_, n) =>
          String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)),
        ).join('')}`
        const ids = await recordKeys(store, ['K1', 'K2'])
        await sort(store, { place: () => ({ lane: aLane(name), policy: 'block' }) })

        assert.deepEqual(await store.pauses.pause({ ...LANE_K, name }, NO_ORDER), {
          status: 'done',
        })

        assertMatches(await store.pauses.list(), [{ name }])
        assert.deepEqual(await statesOf(store, ids), ['waiting', 'waiting'])
        assertMatches(await act(store, 'discard', ids[0] ?? ''), { status: 'done' })
        assert.deepEqual(await statesOf(store, ids), ['discarded', 'waiting'])
      },
    },
  ]),
]

const HEAD = { kind: 'head' } as const

const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const

const SLOT = { workerId: 'worker-1', slot: 0 }
