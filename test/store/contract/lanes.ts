import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../../src/model/outcome.ts'
import type { Placement } from '../../../src/ordering/place-event.ts'
import type { ClaimedEvent } from '../../../src/store/contract/claimed-event.ts'
import type { Group } from '../../../src/store/contract/group.ts'
import { aClaim } from '../../support/builders.ts'
import {
  aLane,
  decide,
  inFifo,
  recordKeys,
  sort,
  statesOf,
  write,
} from '../../support/lane-steps.ts'
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
  unhandled,
} from '../../support/store-steps.ts'
import { limitsIn, pruneRows } from '../../support/retention-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { DatabaseUnderTest, QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

const HEAD = { kind: 'head' } as const
const LANE_K = { kind: 'lane', source: 'stripe', name: 'K' } as const
const FULL = { ...HEAD, fillsLanes: true } as const

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

    test('while places are found out, events are received, claimed and sorted by others', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const ids = await recordKeys(store, ['K1', 'K2'])
      const decided = await decide(store)

      await recordKeys(other, ['x'], 'other')
      await runOne(other, done, { of: [['stripe', 'other']] })
      expect(await sort(other)).toEqual(['K1', 'K2'])
      await runOne(other, done, HEAD)

      expect(await write(store, decided)).toEqual([])
      expect(await statesOf(store, ids)).toEqual(['done', 'ready'])
    })

    test('O03: what was stored while places were found out is not overtaken', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1', 'K2', 'K3'])
      const decided = await decide(store)
      const seen = {
        ...decided,
        decided: decided.decided.filter(({ event }) => event.key !== 'K2'),
      }

      expect(await write(store, seen)).toEqual(['K1'])
      expect(await sort(store)).toEqual(['K2', 'K3'])
    })

    test('O03: of a type that has appeared since, the events come first', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1'], 'z')
      const decided = await decide(store)
      await recordKeys(store, ['K2'], 'a')

      expect(await store.lanes.sort(decided)).toEqual({ status: 'changed' })
      expect(await sort(store)).toEqual(['K1', 'K2'])
    })

    test('a type without an order is no news', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1'], 'z')
      const decided = await decide(store)
      await recordKeys(store, ['x'], 'a')
      const found = await store.lanes.listUnsorted('stripe')
      const unordered = found.filter(({ type }) => type === 'a').map(({ topic }) => topic)

      expect(await write(store, { ...decided, unordered })).toEqual(['K1'])
    })

    test('an event that was tried, or discarded, since its place was found out is left alone', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2', 'K3'])
      const decided = await decide(store)
      await runOne(store, retryIn(0))
      await act(store, 'discard', ids[1] ?? '')

      expect(await write(store, decided)).toEqual(['K3'])
      expect(await statesOf(store, ids)).toEqual(['ready', 'discarded', 'ready'])
    })

    test('what has no place is dead, with the others sorted', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2'])
      const request = await decide(store)
      const ended = request.decided.map(({ event, becomes }) => ({
        event,
        becomes: event.key === 'K1' ? dead(event) : becomes,
      }))

      expect(await write(store, { ...request, decided: ended })).toEqual(['K1', 'K2'])
      expect(await statesOf(store, ids)).toEqual(['dead', 'ready'])
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

    test('what is next behind the heads of fifo lanes comes with them, in its order', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'K2', 'K3', 'L1', 'L2'])
      await sort(store)

      const group = await claim(store, FULL)

      expect(keysOf(group, 'K')).toEqual(['K1', 'K2 behind', 'K3 behind'])
      expect(keysOf(group, 'L')).toEqual(['L1', 'L2 behind'])
      await group.settle(group.events.filter(({ key }) => key < 'K3').map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
      expect(await statesOf(store, ids)).toEqual(['done', 'done', 'ready', 'ready', 'waiting'])
    })

    test('heads come first: what is behind them has the room that they leave', async () => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1', 'K2', 'K3', 'L1'])
      await sort(store)

      const two = await claim(store, { ...FULL, limit: 2 })
      expect(two.events.map(({ key }) => key)).toEqual(['K1', 'L1'])
      await two.abandon()
      const three = await claim(store, { ...FULL, limit: 3 })
      expect(three.events.map(({ key }) => key)).toEqual(['K1', 'L1', 'K2'])
      await three.abandon()
    })

    test.each([
      ['of another type', 'other', inFifo],
      ['of another mode', undefined, inLatest],
    ] as const)('what is behind a head and %s waits', async (_, type, place) => {
      const { store } = await openStore(underTest)
      await recordKeys(store, ['K1'])
      await recordKeys(store, ['K2'], type)
      await recordKeys(store, ['K3'])
      await sort(store, { place })

      const group = await claim(store, FULL)

      expect(group.events).toHaveLength(1)
      await group.abandon()
    })

    test('O02: what is behind a dead event does not come with a head that is before it', async () => {
      const { store, database } = await openStore(underTest)
      const [late = ''] = await recordKeys(store, ['K1'])
      await hide(database, late)
      await recordKeys(store, ['K2', 'K3'])
      await sort(store)
      await runOne(store, dead, HEAD)
      await show(database, late)
      await sort(store)

      const group = await claim(store, FULL)

      expect(keysOf(group, 'K')).toEqual(['K1'])
      await group.abandon()
    })

    test.each([
      ['is to be retried', retryIn(3_600_000), ['done', 'ready', 'waiting']],
      ['is dead', dead, ['done', 'dead', 'waiting']],
    ] as const)(
      'O01: behind one that %s the lane waits, also within a group',
      async (_, becomes, expected) => {
        const { store } = await openStore(underTest)
        const ids = await recordKeys(store, ['K1', 'K2', 'K3'])
        await sort(store)
        const group = await claim(store, FULL)
        const [first, second] = group.events

        await group.settle(
          [first && done(first), second && becomes(second)].flatMap((s) => s ?? []),
        )
        expect(await group.commit()).toEqual({ status: 'committed' })

        expect(await statesOf(store, ids)).toEqual(expected)
        expect((await store.lanes.findBlocker(ids[2] ?? ''))?.eventId).toBe(ids[1])
      },
    )

    test('O02: that a dead event blocks its lane is told once, and that it does so no longer', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const [first = ''] = await recordKeys(store, ['K1', 'K2', 'L1'])
      await sort(store)
      await runOne(store, dead, HEAD)
      const about = { source: 'stripe', lane: 'K', mode: 'fifo', eventId: first }

      const told = await Promise.all([store.lanes.takeNews(10), other.lanes.takeNews(10)])
      expect(told.flat()).toEqual([{ ...about, isBlocked: true }])
      await act(store, 'discard', first)
      await store.lanes.mendBlocked(10)

      expect(await store.lanes.takeNews(10)).toEqual([{ ...about, isBlocked: false }])
      expect(await store.lanes.takeNews(10)).toEqual([])
    })

    test('news of lanes are handed out in their order, so many at a time', async () => {
      const { store } = await openStore(underTest)
      const ids = await recordKeys(store, ['K1', 'L1', 'M1'])
      await sort(store)
      for (const _ of ids) await runOne(store, dead, HEAD)

      const eventIds = async (limit: number) =>
        (await store.lanes.takeNews(limit)).map(({ eventId }) => eventId)
      expect([await eventIds(2), await eventIds(2)]).toEqual([ids.slice(0, 2), ids.slice(2)])
    })

    test('O02: a gap that lasted too long blocks its lane, and is told with the event behind it', async () => {
      const { store } = await openStore(underTest)
      const lane = aLane('K', 'sequence')
      const [id = ''] = await recordKeys(store, ['K5'])
      await sort(store, {
        place: () => ({ lane, number: 5, first: 1, waitMs: 0, policy: 'dead' }),
      })
      await expect.poll(() => store.lanes.passDeadlines(10)).toMatchObject([{ becomes: 'dead' }])
      const about = { source: 'stripe', lane: 'K', mode: 'sequence', eventId: id }

      expect(await store.lanes.takeNews(10)).toEqual([{ ...about, isBlocked: true }])
      await act(store, 'discard', id)
      expect(await store.lanes.mendBlocked(10)).toBe(1)
      expect(await store.lanes.takeNews(10)).toEqual([{ ...about, isBlocked: false }])
    })

    test('a lane is forgotten when nothing has happened in it for as long as keys are kept', async () => {
      const { store, database } = await openStore(underTest)
      await recordKeys(store, ['K1'])
      const freed = { id: aLane('A', 'after').id, source: 'stripe', key: 'A', type: 'created' }
      await runOne(store, (event) => ({ ...done(event), frees: [freed] }) as Settlement)
      await recordKeys(store, ['L1'])
      await sort(store)
      await runOne(store, done, HEAD)

      const forever = limitsIn(10_000, { keysDays: 'forever' })
      expect(await pruneRows(store, forever)).toMatchObject({ lanes: 0 })
      expect(await pruneRows(store, limitsIn(45))).toMatchObject({ lanes: 0 })
      expect(await countRows(database, 'lane_facts')).toBe(1)
      expect(await pruneRows(store, limitsIn(46))).toMatchObject({ lanes: 2 })
      expect(await countRows(database, 'lane_facts')).toBe(0)
    })

    test('a lane with an event that can still run, one that is blocked and one that is paused stay', async () => {
      const { store, database } = await openStore(underTest)
      await recordKeys(store, ['B1', 'P1'])
      await sort(store)
      await runOne(store, dead, HEAD)
      await runOne(store, done, HEAD)
      await store.pauses.pause({ ...LANE_K, name: 'P' }, NO_ORDER)
      await recordKeys(store, ['R1', 'R2', 'U1'])
      await sort(store)
      await runOne(store, unhandled, HEAD)

      expect(await pruneRows(store, limitsIn(10_000))).toMatchObject({ lanes: 0 })
      expect(await countRows(database, 'lanes')).toBe(4)
    })

    test('how long a lane is kept counts from the last that happened in it', async () => {
      const { store, database } = await openStore(underTest)
      await recordKeys(store, ['K1', 'L1'])
      await sort(store)
      await runOne(store, done, HEAD)
      await ageLanes(database)
      // One ends, and in the other lane there is a new one.
      await runOne(store, done, HEAD)
      await recordKeys(store, ['K2'])
      await sort(store)
      await runOne(store, done, HEAD)

      expect(await pruneRows(store, limitsIn(44))).toMatchObject({ lanes: 0 })
      await ageLanes(database)
      expect(await pruneRows(store, limitsIn(1))).toMatchObject({ lanes: 2 })
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

function keysOf(group: Group<QueryTx>, lane: string): readonly string[] {
  return group.events
    .filter((event) => event.lane?.key === lane)
    .map((event) => (event.lane?.isBehind === true ? `${event.key} behind` : event.key))
}

const inLatest = ({ key }: ClaimedEvent): Placement => ({
  lane: aLane('K', 'latest'),
  place: key,
})

/** As if its insert were still on its way. */
async function hide({ query }: DatabaseUnderTest, eventId: string): Promise<void> {
  const sql = (queue: string) => `update ${queue} set parked = 'quarantined' where event_id = $1`
  await query(sql('hookonce.queue'), [eventId]).catch(() => query(sql('hookonce_queue'), [eventId]))
}

async function show({ query }: DatabaseUnderTest, eventId: string): Promise<void> {
  const sql = (queue: string) => `update ${queue} set parked = null where event_id = $1`
  await query(sql('hookonce.queue'), [eventId]).catch(() => query(sql('hookonce_queue'), [eventId]))
}

/** As if nothing had happened in any lane for longer than keys are kept. */
async function ageLanes({ query }: DatabaseUnderTest): Promise<void> {
  await query(`update hookonce.lanes set used_at = used_at - interval '46 days'`).catch(() =>
    query(`update hookonce_lanes set used_at = used_at - ${46 * 86_400_000}`),
  )
}

async function countRows({ query }: DatabaseUnderTest, table: string): Promise<number> {
  const rows = await query(`select count(*) as found from hookonce.${table}`).catch(() =>
    query(`select count(*) as found from hookonce_${table}`),
  )
  return Number(rows[0]?.['found'])
}
