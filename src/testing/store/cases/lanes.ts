import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { aClaim } from '../steps/builders.ts'
import { aLane, decide, recordKeys, sort, statesOf, write } from '../steps/lane-steps.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import type { ClaimedEvent } from '../../../store/contract/claimed-event.ts'
import { LEASE_MS } from '../steps/lease-steps.ts'
import { act, claim, dead, done, retryIn, runOne, sweepOthers } from '../steps/store-steps.ts'

export const laneCases: readonly StoreCase[] = [
  ...casesOf('lanes', [
    {
      name: 'an event that is not sorted is no head, and one that is sorted is not fresh',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2', 'L1'])
        assert.equal(await store.queue.claim(aClaim(HEAD)), undefined)

        assert.deepEqual(await sort(store), ['K1', 'K2', 'L1'])

        assert.equal(await store.queue.claim(aClaim()), undefined)
        assert.deepEqual(await statesOf(store, ids), ['ready', 'waiting', 'ready'])
        const group = await claim(store, HEAD)
        assert.deepEqual(
          group.events.map(({ key, lane }) => [key, lane?.key]),
          [
            ['K1', 'K'],
            ['L1', 'L'],
          ],
        )
        await group.abandon()
      },
    },

    {
      name: 'a look tells of heads',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1', 'K2'])
        await sort(store)

        const { due } = await store.queue.look({ after: -1, limit: 10 })

        assert.deepEqual(
          due.map(({ kind, type }) => [kind, type]),
          [['head', 'invoice.paid']],
        )
      },
    },

    {
      name: 'O03: events are sorted in the order of storing, whatever their types',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1'], 'z')
        await recordKeys(store, ['K2'], 'a')
        await recordKeys(store, ['K3'], 'z')

        assert.deepEqual(await sort(store, { limit: 2 }), ['K1', 'K2'])
        assert.deepEqual(await sort(store, { limit: 2 }), ['K3'])
        assert.deepEqual(await sort(store, { limit: 2 }), [])
      },
    },

    {
      name: 'while places are found out, events are received, claimed and sorted by others',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const ids = await recordKeys(store, ['K1', 'K2'])
        const decided = await decide(store)

        await recordKeys(other, ['x'], 'other')
        await runOne(other, done, { of: [['stripe', 'other']] })
        assert.deepEqual(await sort(other), ['K1', 'K2'])
        await runOne(other, done, HEAD)

        assert.deepEqual(await write(store, decided), [])
        assert.deepEqual(await statesOf(store, ids), ['done', 'ready'])
      },
    },

    {
      name: 'O03: what was stored while places were found out is not overtaken',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1', 'K2', 'K3'])
        const decided = await decide(store)
        const seen = {
          ...decided,
          decided: decided.decided.filter(({ event }) => event.key !== 'K2'),
        }

        assert.deepEqual(await write(store, seen), ['K1'])
        assert.deepEqual(await sort(store), ['K2', 'K3'])
      },
    },

    {
      name: 'O03: of a type that has appeared since, the events come first',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1'], 'z')
        const decided = await decide(store)
        await recordKeys(store, ['K2'], 'a')

        assert.deepEqual(await store.lanes.sort(decided), { status: 'changed' })
        assert.deepEqual(await sort(store), ['K1', 'K2'])
      },
    },

    {
      name: 'a type without an order is no news',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1'], 'z')
        const decided = await decide(store)
        await recordKeys(store, ['x'], 'a')
        const found = await store.lanes.listUnsorted('stripe')
        const unordered = found.filter(({ type }) => type === 'a').map(({ topic }) => topic)

        assert.deepEqual(await write(store, { ...decided, unordered }), ['K1'])
      },
    },

    {
      name: 'an event that was tried, or discarded, since its place was found out is left alone',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2', 'K3'])
        const decided = await decide(store)
        await runOne(store, retryIn(0))
        await act(store, 'discard', ids[1] ?? '')

        assert.deepEqual(await write(store, decided), ['K3'])
        assert.deepEqual(await statesOf(store, ids), ['ready', 'discarded', 'ready'])
      },
    },

    {
      name: 'what has no place is dead, with the others sorted',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2'])
        const request = await decide(store)
        const ended = request.decided.map(({ event, becomes }) => ({
          event,
          becomes: event.key === 'K1' ? dead(event) : becomes,
        }))

        assert.deepEqual(await write(store, { ...request, decided: ended }), ['K1', 'K2'])
        assert.deepEqual(await statesOf(store, ids), ['dead', 'ready'])
      },
    },

    ...(
      [
        ['done', done, 'ready'],
        ['dead', dead, 'waiting'],
        ['to be retried', retryIn(3_600_000), 'waiting'],
      ] as const
    ).map(([how, becomes, expected]): StoreCase => ({
      name: `behind a head that is ${how}`,
      run: async (open) => {
        const { store } = await open()
        const [, next = ''] = await recordKeys(store, ['K1', 'K2'])
        await sort(store)

        await runOne(store, becomes, HEAD)

        assert.deepEqual(await statesOf(store, [next]), [expected])
      },
    })),

    {
      name: 'behind a head whose transaction was lost for the last time the lane waits',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2'])
        await sort(store)
        const group = await claim(store, HEAD)
        await group.abandon()
        await store.workers.announce({ workerId: 'worker-1', slot: 0 }, [])

        for (const event of group.events) await store.queue.settleLost(dead(event))

        assert.deepEqual(await statesOf(store, ids), ['dead', 'waiting'])
      },
    },

    ...(
      [
        ['block', 'waiting'],
        ['pass', 'ready'],
      ] as const
    ).map(([policy, expected]): StoreCase => ({
      name: `a head that crashed too often is dead, and with ${policy}`,
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2'])
        await sort(store, { place: () => ({ lane: aLane('K'), policy }) })
        const slot = { workerId: 'worker-1', slot: 0 }
        await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
        const group = await claim(store, { ...HEAD, slot, opensLate: 'always' })
        await group.abandon()
        const running = group.events.map(({ eventId, attempt }) => ({ eventId, attempt }))
        await store.workers.announce(slot, running)

        await sweepOthers(store, { me: 'worker-2', crashesMax: 1 })

        assert.deepEqual(await statesOf(store, ids), ['dead', expected])
      },
    })),

    ...(
      [
        ['done', done, 'ready'],
        ['dead', dead, 'waiting'],
      ] as const
    ).map(([how, becomes, expected]): StoreCase => ({
      name: `behind a leased head that is ${how}`,
      run: async (open) => {
        const { store } = await open()
        const [, next = ''] = await recordKeys(store, ['K1', 'K2'])
        await sort(store)
        await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
        const group = await claim(store, HEAD)
        const [leased] = await group.lease({ workerId: 'worker-1', limit: 1, leaseMs: LEASE_MS })

        assert.equal(leased?.lane?.key, 'K')
        const settlement = leased && becomes(leased)
        if (leased && settlement) await store.steps.settle([{ lease: leased.lease, settlement }])

        assert.deepEqual(await statesOf(store, [next]), [expected])
      },
    })),

    {
      name: 'a leased head that crashed too often is dead, and blocks its lane',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2'])
        await sort(store)
        await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
        const group = await claim(store, HEAD)
        await group.lease({ workerId: 'worker-1', limit: 1, leaseMs: LEASE_MS })

        await sweepOthers(store, { me: 'worker-2', crashesMax: 1 })

        assert.deepEqual(await statesOf(store, ids), ['dead', 'waiting'])
      },
    },

    {
      name: 'a head that is discarded lets the next one go, and one that waits leaves its lane',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2', 'K3'])
        await sort(store)
        const [first = '', second = ''] = ids

        assertMatches(await act(store, 'discard', first), { status: 'done' })
        assert.deepEqual(await statesOf(store, ids), ['discarded', 'ready', 'waiting'])
        assertMatches(await act(store, 'discard', second), { status: 'done' })
        assert.deepEqual(await statesOf(store, ids), ['discarded', 'discarded', 'ready'])
      },
    },

    {
      name: 'Y05: an event that is replayed joins its lane',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2'])
        await sort(store)
        await runOne(store, done, HEAD)
        const [first = ''] = ids

        assertMatches(await act(store, 'replay', first), { status: 'done', run: 1 })
        await sort(store)

        assert.deepEqual((await statesOf(store, ids)).toSorted(), ['ready', 'waiting'])
        await runOne(store, done, HEAD)
        await runOne(store, done, HEAD)
        assert.deepEqual(await statesOf(store, ids), ['done', 'done'])
      },
    },

    {
      name: 'O02: a dead event that is retried blocks its lane until it is sorted again',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2'])
        await sort(store)
        await runOne(store, dead, HEAD)
        const [first = ''] = ids

        await act(store, 'retry', first)

        assert.equal(await store.lanes.mendBlocked(10), 0)
        assert.deepEqual(await statesOf(store, ids), ['ready', 'waiting'])
        assert.deepEqual(await sort(store), ['K1'])
        assert.deepEqual(await statesOf(store, ids), ['ready', 'waiting'])
        await runOne(store, done, HEAD)
        assert.deepEqual(await statesOf(store, ids), ['done', 'ready'])
      },
    },

    {
      name: 'of two versions that failed, the one that is due first does not wait for the other',
      run: async (open) => {
        const { store } = await open()
        const place = ({ key }: ClaimedEvent): Placement => ({
          lane: aLane('K', 'latest'),
          place: key,
        })
        const [newer = ''] = await recordKeys(store, ['K7'])
        await sort(store, { place })
        await runOne(store, retryIn(60_000), HEAD)
        const [older = ''] = await recordKeys(store, ['K6'])
        await sort(store, { place })
        assert.deepEqual(await statesOf(store, [newer, older]), ['waiting', 'ready'])

        await runOne(store, retryIn(3_600_000), HEAD)

        assert.deepEqual(await statesOf(store, [newer, older]), ['ready', 'waiting'])
        assertMatches((await store.operators.findEvent(older))?.blockedBy, { eventId: newer })
      },
    },

    {
      name: 'an event that was tried before it had an order is sorted when asked for',
      run: async (open) => {
        const { store } = await open()
        const [id = ''] = await recordKeys(store, ['K1'])
        await runOne(store, retryIn(0))

        assert.deepEqual(await sort(store), [])
        assert.deepEqual(await sort(store, { also: [id] }), ['K1'])

        assert.equal((await store.operators.findEvent(id))?.lane, 'K')
        const group = await claim(store, { kind: 'again' })
        assert.deepEqual(
          group.events.map(({ lane }) => lane?.key),
          ['K'],
        )
        await group.abandon()
      },
    },
  ]),
]

const HEAD = { kind: 'head' } as const
