import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OrderOptions } from '../../src/ordering/order.ts'
import { Fleet } from '../support/order-fleet.ts'
import type { Register, Story } from '../support/order-fleet.ts'
import {
  byNumber,
  idsOf,
  LANES,
  LIMIT,
  ORDER_RUNS,
  stories,
  unique,
} from '../support/order-stories.ts'
import { apply, AT_ONCE, laneOf, withOrdered } from '../support/ordered-inbox.ts'
import type { OrderedSetup, Sent } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const HOUR_MS = 3_600_000

/** A story in which some of what was sent comes only when what waited for it has waited for long enough. */
interface LateStory {
  readonly story: Story
  /** The ids of what comes late. */
  readonly late: ReadonlySet<string>
  readonly policy: 'run' | 'dead'
}

/** What orders promise when their deadlines pass: at random, as `order-properties.ts`. */
export function deadlinePropertiesContract(store: StoreUnderTest): void {
  describe(`${store.name}: whatever is missing when a deadline passes`, () => {
    test('sequence: nothing goes over a gap before, and by its numbers then', LIMIT, () =>
      holds(store, async (setup, { story, late, policy }) => {
        const order = { mode: 'sequence', lane: laneOf, gapMs: HOUR_MS, onGap: policy } as const
        const register = inOrder(story, order)
        const { fleet, early, ids } = await begin(setup, { story, late }, register)
        const before = new Map(LANES.map((lane) => [lane, prefixOf(early, lane)]))
        await fleet.untilIn(idsIn(ids, [...before.values()].flat()), ['done'])
        await fleet.untilIn([...ids.values()], ['done', 'waiting'])
        for (const [lane, prefix] of before) expect(await setup.applied(lane)).toEqual(prefix)

        await passUntil(fleet, [...ids.values()], ['done', 'dead'])
        for (const [lane, prefix] of before) {
          const all = idsOf(byNumber(early), lane)
          expect(await setup.applied(lane)).toEqual(policy === 'run' ? all : prefix)
        }
        if (policy === 'dead') return fleet.stop()

        // A number that was gone over runs when it comes, and what is beyond all of them in order.
        const lateArrivals = story.arrivals.filter(({ id }) => late.has(id))
        await fleet.untilIn(await fleet.deliver(lateArrivals), ['done'])
        for (const lane of LANES) {
          const applied = await setup.applied(lane)
          const all = idsOf(byNumber(early), lane)
          expect(applied.slice(0, all.length)).toEqual(all)
          expect(applied.toSorted()).toEqual(idsOf(byNumber(story.arrivals), lane))
          const beyond = applied.slice(all.length).filter((id) => id > (all.at(-1) ?? ''))
          expect(beyond).toEqual(beyond.toSorted())
        }
        return fleet.stop()
      }),
    )

    test('after: nothing runs without what it requires before, and by the policy then', LIMIT, () =>
      holds(store, async (setup, { story: given, late, policy }) => {
        const arrivals = given.arrivals.map((sent) => ({
          ...sent,
          type: sent.n === 1 ? 'made' : 'item.changed',
        }))
        const story = { ...given, arrivals }
        const made = new Set([...late].filter((id) => id.endsWith('1')))
        const order = {
          mode: 'after',
          lane: laneOf,
          requires: 'made',
          waitMs: HOUR_MS,
          onMissing: policy,
        } as const
        const register = inOrder(story, order)
        const { fleet, early, ids } = await begin(setup, { story, late: made }, register)
        const lacking = LANES.filter((lane) => made.has(`${lane}1`))
        const waiting = unique(early).filter(({ lane }) => lacking.includes(lane))
        const others = unique(early).filter(({ lane }) => !lacking.includes(lane))
        await fleet.untilIn(
          idsIn(
            ids,
            others.map(({ id }) => id),
          ),
          ['done'],
        )
        await fleet.untilIn(
          idsIn(
            ids,
            waiting.map(({ id }) => id),
          ),
          ['waiting'],
        )
        for (const lane of LANES) {
          const applied = await setup.applied(lane)
          expect(applied.toSorted()).toEqual(idsOf(others, lane).toSorted())
          if (!lacking.includes(lane)) expect(applied[0]).toBe(`${lane}1`)
        }

        await passUntil(fleet, [...ids.values()], ['done', 'dead'])
        const lateArrivals = story.arrivals.filter(({ id }) => made.has(id))
        await fleet.untilIn(await fleet.deliver(lateArrivals), ['done'])
        for (const lane of lacking) {
          const applied = await setup.applied(lane)
          expect(applied.at(-1)).toBe(`${lane}1`)
          const ran = policy === 'run' ? idsOf(waiting, lane) : []
          expect(applied.slice(0, -1).toSorted()).toEqual(ran.toSorted())
        }
        return fleet.stop()
      }),
    )
  })
}

function inOrder({ isSteps }: Story, order: OrderOptions<Sent>): Register {
  const options = { order, retry: AT_ONCE }
  return (inbox, work) => {
    if (isSteps)
      inbox.steps('partner', '*', options, async (event, step) => {
        await step.tx('work', (tx) => work(event, tx, () => apply(tx, event)))
      })
    else
      inbox.on('partner', '*', options, (event, { tx }) => work(event, tx, () => apply(tx, event)))
  }
}

function lateStories(): fc.Arbitrary<LateStory> {
  return stories().chain((story) =>
    fc.record({
      story: fc.constant(story),
      late: fc
        .subarray([...new Set(story.arrivals.map(({ id }) => id))], { minLength: 1 })
        .map((ids) => new Set(ids)),
      policy: fc.constantFrom('run' as const, 'dead' as const),
    }),
  )
}

async function holds(
  store: StoreUnderTest,
  check: (setup: OrderedSetup, story: LateStory) => Promise<void>,
): Promise<void> {
  const property = fc.asyncProperty(lateStories(), (story) =>
    withOrdered(store, (setup) => check(setup, story)),
  )
  await fc.assert(property, ORDER_RUNS)
}

/** All but what comes late has arrived. */
async function begin(
  setup: OrderedSetup,
  { story, late }: Pick<LateStory, 'story' | 'late'>,
  register: Register,
) {
  const fleet = await Fleet.start(setup, story, register)
  const early = story.arrivals.filter(({ id }) => !late.has(id))
  const ids = new Map<string, string>()
  for (const sent of early) {
    const [eventId = ''] = await fleet.deliver([sent])
    ids.set(sent.id, eventId)
  }
  return { fleet, early, ids }
}

/** Each gap is waited for by itself, so that one hour is not enough. */
async function passUntil(
  fleet: Fleet,
  ids: readonly string[],
  states: readonly string[],
): Promise<void> {
  while (!(await fleet.areIn(ids, states))) await fleet.passTime(HOUR_MS)
}

function idsIn(ids: ReadonlyMap<string, string>, keys: readonly string[]): readonly string[] {
  return keys.map((key) => ids.get(key) ?? '')
}

/** What runs at once: the numbers from 1 on without a gap. */
function prefixOf(arrivals: readonly Sent[], lane: string): readonly string[] {
  const sorted = byNumber(arrivals).filter((sent) => sent.lane === lane)
  return sorted.filter(({ n }, at) => n === at + 1).map(({ id }) => id)
}
