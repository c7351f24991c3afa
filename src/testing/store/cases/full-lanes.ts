import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import type { Placement } from '../../../ordering/place-event.ts'
import type { ClaimedEvent } from '../../../store/contract/claimed-event.ts'
import type { Group } from '../../../store/contract/group.ts'
import { aLane, inFifo, passDeadlines, recordKeys, sort, statesOf } from '../steps/lane-steps.ts'
import { act, claim, dead, done, retryIn, runOne } from '../steps/store-steps.ts'

const inLatest = ({ key }: ClaimedEvent): Placement => ({
  lane: aLane('K', 'latest'),
  place: key,
})

export const fullLaneCases: readonly StoreCase[] = [
  ...casesOf('full lanes, and what is told of lanes', [
    {
      name: 'what is next behind the heads of fifo lanes comes with them, in its order',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2', 'K3', 'L1', 'L2'])
        await sort(store)

        const group = await claim(store, FULL)

        assert.deepEqual(keysOf(group, 'K'), ['K1', 'K2 behind', 'K3 behind'])
        assert.deepEqual(keysOf(group, 'L'), ['L1', 'L2 behind'])
        await group.settle(group.events.filter(({ key }) => key < 'K3').map(done))
        assert.deepEqual(await group.commit(), { status: 'committed' })
        assert.deepEqual(await statesOf(store, ids), ['done', 'done', 'ready', 'ready', 'waiting'])
      },
    },

    {
      name: 'heads come first: what is behind them has the room that they leave',
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1', 'K2', 'K3', 'L1'])
        await sort(store)

        const two = await claim(store, { ...FULL, limit: 2 })
        assert.deepEqual(
          two.events.map(({ key }) => key),
          ['K1', 'L1'],
        )
        await two.abandon()
        const three = await claim(store, { ...FULL, limit: 3 })
        assert.deepEqual(
          three.events.map(({ key }) => key),
          ['K1', 'L1', 'K2'],
        )
        await three.abandon()
      },
    },

    ...(
      [
        ['of another type', 'other', inFifo],
        ['of another mode', undefined, inLatest],
      ] as const
    ).map(([how, type, place]): StoreCase => ({
      name: `what is behind a head and ${how} waits`,
      run: async (open) => {
        const { store } = await open()
        await recordKeys(store, ['K1'])
        await recordKeys(store, ['K2'], type)
        await recordKeys(store, ['K3'])
        await sort(store, { place })

        const group = await claim(store, FULL)

        assert.equal(group.events.length, 1)
        await group.abandon()
      },
    })),

    ...(
      [
        ['is to be retried', retryIn(3_600_000), ['done', 'ready', 'waiting']],
        ['is dead', dead, ['done', 'dead', 'waiting']],
      ] as const
    ).map(([how, becomes, expected]): StoreCase => ({
      name: `O01: behind one that ${how} the lane waits, also within a group`,
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'K2', 'K3'])
        await sort(store)
        const group = await claim(store, FULL)
        const [first, second] = group.events

        await group.settle(
          [first && done(first), second && becomes(second)].flatMap((s) => s ?? []),
        )
        assert.deepEqual(await group.commit(), { status: 'committed' })

        assert.deepEqual(await statesOf(store, ids), expected)
        assert.equal((await store.operators.findEvent(ids[2] ?? ''))?.blockedBy?.eventId, ids[1])
      },
    })),

    {
      name: 'O02: that a dead event blocks its lane is told once, and that it does so no longer',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const [first = ''] = await recordKeys(store, ['K1', 'K2', 'L1'])
        await sort(store)
        await runOne(store, dead, HEAD)
        const about = { source: 'stripe', lane: 'K', mode: 'fifo', eventId: first }

        const told = await Promise.all([store.lanes.takeNews(10), other.lanes.takeNews(10)])
        assert.deepEqual(told.flat(), [{ ...about, isBlocked: true }])
        await act(store, 'discard', first)
        await store.lanes.mendBlocked(10)

        assert.deepEqual(await store.lanes.takeNews(10), [{ ...about, isBlocked: false }])
        assert.deepEqual(await store.lanes.takeNews(10), [])
      },
    },

    {
      name: 'news of lanes are handed out in their order, so many at a time',
      run: async (open) => {
        const { store } = await open()
        const ids = await recordKeys(store, ['K1', 'L1', 'M1'])
        await sort(store)
        for (const _ of ids) await runOne(store, dead, HEAD)

        const eventIds = async (limit: number) =>
          (await store.lanes.takeNews(limit)).map(({ eventId }) => eventId)
        assert.deepEqual([await eventIds(2), await eventIds(2)], [ids.slice(0, 2), ids.slice(2)])
      },
    },

    {
      name: 'O02: a gap that lasted too long blocks its lane, and is told with the event behind it',
      run: async (open) => {
        const { store } = await open()
        const lane = aLane('K', 'sequence')
        const [id = ''] = await recordKeys(store, ['K5'])
        await sort(store, {
          place: () => ({ lane, number: 5, first: 1, waitMs: 0, policy: 'dead' }),
        })
        assertMatches(await passDeadlines(store), [{ becomes: 'dead' }])
        const about = { source: 'stripe', lane: 'K', mode: 'sequence', eventId: id }

        assert.deepEqual(await store.lanes.takeNews(10), [{ ...about, isBlocked: true }])
        await act(store, 'discard', id)
        assert.equal(await store.lanes.mendBlocked(10), 1)
        assert.deepEqual(await store.lanes.takeNews(10), [{ ...about, isBlocked: false }])
      },
    },

    {
      // The row of a lane is its lock, found by all 128 bits of its id: there is no number of fewer bits that two lanes
      // could share, as there would be with advisory locks.
      name: 'O05: many lanes whose ids begin alike are lanes of their own, each in its order',
      run: async (open) => {
        const { store } = await open()
        const lanes = Array.from({ length: ALIKE }, (_, at) => `K${at} `)
        const keys = ['1', '2'].flatMap((nth) => lanes.map((lane) => `${lane}${nth}`))
        await recordKeys(store, keys)
        const place = ({ key }: ClaimedEvent): Placement => {
          const [lane = ''] = key.split(' ')
          const end = Number(lane.slice(1)).toString(16).padStart(12, '0')
          const id = `00000000-0000-0000-0000-${end}`
          return { lane: { ...aLane(lane), id }, policy: 'block' }
        }
        for (let sorted = 0; sorted < keys.length; sorted += 100) await sort(store, { place })

        const ran: string[] = []
        while (ran.length < keys.length) {
          const group = await claim(store, { ...HEAD, limit: 100 })
          ran.push(...group.events.map(({ key }) => key))
          await group.settle(group.events.map(done))
          assert.deepEqual(await group.commit(), { status: 'committed' })
        }

        assert.deepEqual(ran.toSorted(), keys.toSorted())
        const firsts = ran.slice(0, lanes.length).every((key) => key.endsWith('1'))
        assert.ok(
          firsts,
          'no second event of a lane is ready before the first of all that were ready before it',
        )
      },
    },
  ]),
]

const ALIKE = 200

const HEAD = { kind: 'head' } as const

const FULL = { ...HEAD, fillsLanes: true } as const

function keysOf(group: Group<unknown>, lane: string): readonly string[] {
  return group.events
    .filter((event) => event.lane?.key === lane)
    .map((event) => (event.lane?.isBehind === true ? `${event.key} behind` : event.key))
}
