import assert from 'node:assert/strict'
import type { Placement } from '../../../ordering/place-event.ts'
import { assertAbove, assertAtLeast, assertMatches, eventually } from '../check.ts'
import {
  aLane,
  inFifo,
  passDeadlines,
  passLate,
  recordKeys,
  sort,
  statesOf,
} from '../steps/lane-steps.ts'
import { LEASE_MS } from '../steps/lease-steps.ts'
import { act, claim, dead, nextDueInMs, NO_ORDER, retryIn, runOne } from '../steps/store-steps.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'

/** Number 5, before which 1 to 4 are missing. */
const behindGap = (policy: 'run' | 'dead') => (): Placement => ({
  lane: aLane('K', 'sequence'),
  number: 5,
  first: 1,
  waitMs: 0,
  policy,
})

const withoutRequired = (): Placement => ({
  lane: aLane('K', 'after'),
  place: 'user.created',
  waitMs: 0,
  policy: 'dead',
})

const REQUIRED = 'user.created'
const laneOf = (key: string) => aLane(key.slice(0, 1), 'sequence')

/** How an event can stand that was not tried yet, and what is the end of that. */
const STANDINGS: readonly (readonly [
  string,
  (store: AnyStore) => Promise<() => Promise<unknown>>,
])[] = [
  [
    'waits to be run',
    (store) => Promise.resolve(() => runOne(store, failed, { of: [['stripe', REQUIRED]] })),
  ],
  [
    'is in a lane of its own',
    async (store) => {
      await sort(store, { place: inFifo })
      return () => runOne(store, failed, { of: [['stripe', REQUIRED]], kind: 'head' })
    },
  ],
  [
    'is run in steps',
    async (store) => {
      await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
      const group = await claim(store, { of: [['stripe', REQUIRED]] })
      const [leased] = await group.lease({ workerId: 'worker-1', limit: 1, leaseMs: LEASE_MS })
      assert(leased)
      return () => store.steps.settle([{ lease: leased.lease, settlement: failed(leased) }])
    },
  ],
]
const failed = retryIn(3_600_000)

export const laneDeadlineCases: readonly StoreCase[] = [
  ...casesOf('what is missing in a lane', [
    {
      name: 'a lane that is paused passes no deadline',
      run: async (open) => {
        const { store } = await open()
        const [id = ''] = await recordKeys(store, ['K5'])
        await sort(store, { place: behindGap('run') })

        await store.pauses.pause(LANE_K, NO_ORDER)

        assert.deepEqual(await passLate(store), [])
        await store.pauses.resume(LANE_K, NO_ORDER)
        assertMatches(await passDeadlines(store), [{ becomes: 'ready' }])
        assert.deepEqual(await statesOf(store, [id]), ['ready'])
      },
    },

    ...(
      [
        ['a number', behindGap('run')],
        ['what it requires', withoutRequired],
      ] as const
    ).map(([what, place]): StoreCase => ({
      name: `until when an event waits for ${what} is known, also to one that looks now and then`,
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K5'])
        await sort(store, { place: () => ({ ...place(), waitMs: 3_600_000 }) })

        const dueInMs = await nextDueInMs(store)
        assertAbove(dueInMs, 0)
        assertAtLeast(3_600_000, dueInMs)

        await recordKeys(store, ['L5'])
        await sort(store, { place: () => ({ ...place(), lane: aLane('L', place().lane.mode) }) })
        assert.equal(await nextDueInMs(store), 1_000)
        assertMatches(await passDeadlines(store), [
          { becomes: place().policy === 'run' ? 'ready' : 'dead' },
        ])
      },
    })),

    ...(
      [
        ['a number', behindGap('dead')],
        ['what it requires', withoutRequired],
      ] as const
    ).map(([what, place]): StoreCase => ({
      name: `Y05: an event that died for lack of ${what}, and is retried, waits once more and runs`,
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K5'])
        await sort(store, { place })
        assertMatches(await passDeadlines(store), [{ becomes: 'dead' }])

        assertMatches(await act(store, 'retry', ids[0] ?? ''), { status: 'done' })
        await sort(store, { place })

        assert.deepEqual(await statesOf(store, ids), ['waiting'])
        assertMatches(await passDeadlines(store), [{ becomes: 'ready' }])
        assert.deepEqual(await statesOf(store, ids), ['ready'])
      },
    })),

    ...STANDINGS.map(([what, stand]): StoreCase => ({
      name: `what is required and ${what} was in time: no deadline passes before it was tried`,
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['R1'], REQUIRED)
        const settle = await stand(store)
        await recordKeys(store, ['K5'])
        await sort(store, { place: withoutRequired, types: ['invoice.paid'] })
        await eventually(async () => assertMatches(await store.lanes.listLate(), [{}]))

        assert.deepEqual(await passLate(store), [])

        await settle()
        assertMatches(await passDeadlines(store), [{ becomes: 'dead' }])
      },
    })),

    {
      name: 'what is required and was stored when the time was over is late',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K5'])
        await sort(store, { place: withoutRequired })
        await eventually(async () => assertMatches(await store.lanes.listLate(), [{}]))
        // The time in an id is in whole milliseconds.
        const overAt = Date.now()
        await eventually(async () => assertAbove(Date.now(), overAt))

        await recordKeys(store, ['R1'], REQUIRED)

        assertMatches(await passLate(store), [{ becomes: 'dead' }])
      },
    },

    {
      name: 'only what is asked for is decided about',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K5'])
        await recordKeys(store, ['L5'], 'invoice.voided')
        await sort(store, { place: ({ key }) => ({ ...behindGap('run')(), lane: laneOf(key) }) })
        const late = await eventually(async () => {
          const found = await store.lanes.listLate()
          assert.equal(found.length, 2)
          return found
        })
        assert.deepEqual(
          late.map(({ source, requires }) => ({ source, requires })),
          [
            { source: 'stripe', requires: undefined },
            { source: 'stripe', requires: undefined },
          ],
        )

        const voided = late.filter(({ type }) => type === 'invoice.voided')
        assertMatches(await store.lanes.passDeadlines({ late: voided, limit: 10 }), [{ key: 'L5' }])
        assertMatches(await passLate(store), [{ key: 'K5' }])
      },
    },

    {
      name: 'one that died of something else, and is retried, is dead without what is missing',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K5'])
        await sort(store, { place: behindGap('run') })
        await passDeadlines(store)
        await runOne(store, dead, { kind: 'head' })

        await act(store, 'retry', ids[0] ?? '')
        await sort(store, { place: withoutRequired })

        assertMatches(await passDeadlines(store), [{ becomes: 'dead' }])
      },
    },
  ]),
]

const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const
