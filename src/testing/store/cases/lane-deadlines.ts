import assert from 'node:assert/strict'
import type { Placement } from '../../../ordering/place-event.ts'
import { assertAbove, assertAtLeast, assertMatches } from '../check.ts'
import { aLane, passDeadlines, recordKeys, sort, statesOf } from '../steps/lane-steps.ts'
import { act, dead, nextDueInMs, NO_ORDER, runOne } from '../steps/store-steps.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'

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

export const laneDeadlineCases: readonly StoreCase[] = [
  ...casesOf('what is missing in a lane', [
    {
      name: 'a lane that is paused passes no deadline',
      run: async (open) => {
        const { store } = await open()
        const [id = ''] = await recordKeys(store, ['K5'])
        await sort(store, { place: behindGap('run') })

        await store.pauses.pause(LANE_K, NO_ORDER)

        assert.deepEqual(await store.lanes.passDeadlines(10), [])
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
        assert.equal(await nextDueInMs(store), 1)
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
