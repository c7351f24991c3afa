import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { WebhookEvent } from '../../src/model/event.ts'
import type { OrderOptions } from '../../src/ordering/order.ts'
import { Fleet } from '../support/order-fleet.ts'
import type { Register, Story } from '../support/order-fleet.ts'
import {
  byNumber,
  exampleOf,
  idsOf,
  LANES,
  LIMIT,
  ORDER_RUNS,
  stories,
  unique,
} from '../support/order-stories.ts'
import { apply, AT_ONCE, laneOf, withOrdered } from '../support/ordered-inbox.ts'
import type { OrderedSetup, Sent } from '../support/ordered-inbox.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'
import { deadlinePropertiesContract } from './deadline-properties.ts'

const HOUR_MS = 3_600_000
const AT_REST = ['done', 'skipped']
const RUNS = { ...ORDER_RUNS, examples: [[exampleOf(false)], [exampleOf(true)]] as [Story][] }

/** Each order as a property: random arrivals, redeliveries, failures and deaths, over two workers. */
export function orderPropertiesContract(store: StoreUnderTest): void {
  describe(`${store.name}: whatever arrives, fails and dies`, () => {
    test('fifo applies each lane in the order of storing', LIMIT, () =>
      holds(store, async (setup, story) => {
        await play(setup, story, inOrder(story, { mode: 'fifo', lane: laneOf }))
        for (const lane of LANES)
          expect(await setup.applied(lane)).toEqual(idsOf(unique(story.arrivals), lane))
      }),
    )

    test('sequence applies each lane by its numbers', LIMIT, () =>
      holds(store, async (setup, story) => {
        const order = { mode: 'sequence', lane: laneOf, gapMs: HOUR_MS, onGap: 'run' } as const
        await play(setup, story, inOrder(story, order))
        for (const lane of LANES)
          expect(await setup.applied(lane)).toEqual(idsOf(byNumber(story.arrivals), lane))
      }),
    )

    test('latest ends with the newest, and never goes back', LIMIT, () =>
      holds(store, async (setup, story) => {
        await play(setup, story, inOrder(story, { mode: 'latest', lane: laneOf }))
        const sent = byNumber(story.arrivals)
        for (const lane of LANES) {
          const ids = idsOf(sent, lane)
          const places = (await setup.applied(lane)).map((id) => ids.indexOf(id))
          expect(places).toEqual([...new Set(places)].toSorted((one, other) => one - other))
          expect(places.at(-1)).toBe(ids.length - 1)
        }
      }),
    )

    test('after applies nothing before what it requires', LIMIT, () =>
      holds(store, async (setup, story) => {
        const arrivals = story.arrivals.map((sent) => ({
          ...sent,
          type: sent.n === 1 ? 'made' : 'item.changed',
        }))
        const order = {
          mode: 'after',
          lane: laneOf,
          requires: 'made',
          waitMs: HOUR_MS,
          onMissing: 'run',
        } as const
        await play(setup, { ...story, arrivals }, inOrder(story, order))
        for (const lane of LANES) {
          const applied = await setup.applied(lane)
          expect(applied[0]).toBe(`${lane}1`)
          expect(applied.toSorted()).toEqual(idsOf(unique(arrivals), lane).toSorted())
        }
      }),
    )

    test('fetch hands over what the object is, and a lane ends with that', LIMIT, () =>
      holds(store, async (setup, story) => {
        const world = new World()
        await play(setup, story, fetching(story, world), (sent) => world.change(sent))
        expect(world.wrong).toEqual([])
        for (const lane of LANES) {
          expect(await setup.applied(lane)).toHaveLength(idsOf(unique(story.arrivals), lane).length)
          // Whatever the order of arrival, and of the retries.
          expect((await setup.applied(lane)).at(-1)).toBe(`v${world.versionOf(lane)}`)
        }
      }),
    )
  })
  deadlinePropertiesContract(store)
}

/** Some of the stories have deaths in them, and the two examples at every point that they come to. */
async function holds(
  store: StoreUnderTest,
  check: (setup: OrderedSetup, story: Story) => Promise<void>,
): Promise<void> {
  const property = fc.asyncProperty(stories(), (story) =>
    withOrdered(store, (setup) => check(setup, story)),
  )
  await fc.assert(property, RUNS)
}

async function play(
  setup: OrderedSetup,
  story: Story,
  register: Register,
  beforeArrival: (sent: Sent) => void = () => undefined,
): Promise<void> {
  const fleet = await Fleet.start(setup, story, register)
  const ids = new Set<string>()
  for (const sent of story.arrivals) {
    beforeArrival(sent)
    for (const id of await fleet.deliver([sent])) ids.add(id)
  }
  await fleet.untilIn([...ids], AT_REST)
  await fleet.stop()
  // Those of the examples: an order in which less is run comes to fewer points.
  if (story.deaths.length > 4) expect(fleet.deaths).toBeGreaterThan(1)
}

function inOrder({ isSteps }: Pick<Story, 'isSteps'>, order: OrderOptions<Sent>): Register {
  return (inbox, work) => {
    const options = { order, retry: AT_ONCE }
    if (isSteps) {
      inbox.steps('partner', 'item.*', options, async (event, step) => {
        await step.tx('work', (tx) => work(event, tx, () => apply(tx, event)))
      })
    } else {
      inbox.on('partner', 'item.*', options, (event, { tx }) =>
        work(event, tx, () => apply(tx, event)),
      )
    }
    inbox.on('partner', 'made', { retry: AT_ONCE }, (event, { tx }) =>
      work(event, tx, () => apply(tx, event)),
    )
  }
}

/** The sender's side: an object for each lane, which is changed before the sender tells of it. */
class World {
  readonly wrong: string[] = []
  readonly #versions = new Map<string, number>()
  readonly #answers: { readonly id: string; readonly version: number; attempt?: number }[] = []

  versionOf(lane: string): number {
    return this.#versions.get(lane) ?? 0
  }

  change({ lane, n = 0 }: Sent): void {
    this.#versions.set(lane, Math.max(this.versionOf(lane), n))
  }

  /** What the object is now, and which answer that is. */
  answer({ id, lane }: Sent): Fetched {
    const version = this.versionOf(lane)
    return { version, nth: this.#answers.push({ id, version }) - 1 }
  }

  /** Each attempt has asked for itself, and was handed what it was answered: no less than what it was told of. */
  use({ id, n = 0 }: Sent, { version, nth }: Fetched, attempt: number): void {
    const answer = this.#answers[nth]
    const expected = { id, version, attempt }
    if (answer !== undefined) answer.attempt ??= attempt
    if (!isDeepStrictEqual(answer, expected))
      this.wrong.push(`${JSON.stringify(expected)} was answered ${JSON.stringify(answer)}`)
    if (version < n) this.wrong.push(`${id} is of version ${n} and got ${version}`)
  }
}

interface Fetched {
  readonly version: number
  readonly nth: number
}

function fetching({ isSteps }: Story, world: World): Register {
  return (inbox, work) => {
    const order = { mode: 'fifo', lane: laneOf } as const
    const fetch = (event: { payload: Sent }) => Promise.resolve(world.answer(event.payload))
    const options = { order, fetch, retry: AT_ONCE }
    const run = (event: WebhookEvent<Sent>, tx: QueryTx, { fetched, attempt }: Seen) =>
      work(event, tx, () => {
        world.use(event.payload, fetched, attempt)
        return apply(tx, { ...event, payload: { ...event.payload, id: `v${fetched.version}` } })
      })
    if (isSteps) {
      inbox.steps('partner', 'item.*', options, async (event, step) => {
        await step.tx('work', (tx) => run(event, tx, step))
      })
    } else {
      inbox.on('partner', 'item.*', options, (event, { tx, fetched, attempt }) =>
        run(event, tx, { fetched, attempt }),
      )
    }
  }
}

interface Seen {
  readonly fetched: Fetched
  readonly attempt: number
}
