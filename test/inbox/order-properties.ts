import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OrderOptions } from '../../src/ordering/order.ts'
import { apply, AT_ONCE, deliverTo, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { OrderedInbox, OrderedSetup, Sent } from '../support/ordered-inbox.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const PATIENT = { timeout: 60_000, interval: 10 }
const LANES = ['K', 'L', 'M']
const HOUR_MS = 3_600_000
const RUNS = { numRuns: 6, endOnFailure: true } as const

/** What a fleet meets: in which order events arrive, which come twice, which fail how often, and who dies when. */
interface Story {
  readonly arrivals: readonly Sent[]
  readonly failures: ReadonlyMap<string, number>
  readonly isSteps: boolean
  /** After so many events were applied, a worker is let go in the middle of what it does. */
  readonly losesAt: number
}

/** Each order as a property: random arrivals, duplicates, failures and lost workers, over two workers. */
export function orderPropertiesContract(store: StoreUnderTest): void {
  describe(`${store.name}: whatever arrives and fails`, () => {
    test('fifo applies each lane in the order of storing', { timeout: 180_000 }, () =>
      fc.assert(
        fc.asyncProperty(stories(), async (story) => {
          const setup = await openOrdered(store)
          await play(setup, story, { mode: 'fifo', lane: laneOf })
          for (const lane of LANES)
            expect(await setup.applied(lane)).toEqual(idsOf(unique(story.arrivals), lane))
        }),
        RUNS,
      ),
    )

    test('sequence applies each lane by its numbers', { timeout: 180_000 }, () =>
      fc.assert(
        fc.asyncProperty(stories(), async (story) => {
          const setup = await openOrdered(store)
          const order = { mode: 'sequence', lane: laneOf, gapMs: HOUR_MS, onGap: 'run' } as const
          await play(setup, story, order)
          for (const lane of LANES)
            expect(await setup.applied(lane)).toEqual(idsOf(byNumber(story.arrivals), lane))
        }),
        RUNS,
      ),
    )

    test('latest ends with the newest, and never goes back', { timeout: 180_000 }, () =>
      fc.assert(
        fc.asyncProperty(stories(), async (story) => {
          const setup = await openOrdered(store)
          await play(setup, story, { mode: 'latest', lane: laneOf })
          const sent = byNumber(story.arrivals)
          for (const lane of LANES) {
            const ids = idsOf(sent, lane)
            const places = (await setup.applied(lane)).map((id) => ids.indexOf(id))
            expect(places).toEqual(places.toSorted((one, other) => one - other))
            expect(places.at(-1)).toBe(ids.length - 1)
          }
        }),
        RUNS,
      ),
    )

    test('after applies nothing before what it requires', { timeout: 180_000 }, () =>
      fc.assert(
        fc.asyncProperty(stories(), async (story) => {
          const setup = await openOrdered(store)
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
          await play(setup, { ...story, arrivals }, order)
          for (const lane of LANES) {
            const applied = await setup.applied(lane)
            expect(applied[0]).toBe(`${lane}1`)
            expect(applied.toSorted()).toEqual(idsOf(unique(arrivals), lane).toSorted())
          }
        }),
        RUNS,
      ),
    )
  })
}

const COUNT = 5

function stories(): fc.Arbitrary<Story> {
  const sent = LANES.flatMap((lane) =>
    Array.from({ length: COUNT }, (_, at) => ({ id: `${lane}${at + 1}`, lane, n: at + 1 })),
  )
  return fc.record({
    arrivals: fc
      .tuple(fc.shuffledSubarray(sent, { minLength: sent.length }), fc.subarray(sent))
      .map(([all, twice]) => [...all, ...twice]),
    failures: fc
      .array(fc.tuple(fc.constantFrom(...sent), fc.integer({ min: 1, max: 2 })), { maxLength: 5 })
      .map((list) => new Map(list.map(([{ id }, times]) => [id, times]))),
    isSteps: fc.boolean(),
    losesAt: fc.integer({ min: 0, max: sent.length - 1 }),
  })
}

async function play(setup: OrderedSetup, story: Story, order: OrderOptions<Sent>): Promise<void> {
  const tries = new Map<string, number>()
  const inboxes = [0, 1, 2].map(() => setup.newInbox({ concurrency: 3, stopGraceMs: 1 }))
  let applied = 0
  const work = async (event: { payload: Sent }, tx: QueryTx): Promise<void> => {
    const { id } = event.payload
    const tried = (tries.get(id) ?? 0) + 1
    tries.set(id, tried)
    if (tried <= (story.failures.get(id) ?? 0)) throw new Error('not yet')
    await apply(tx, event as Parameters<typeof apply>[1])
    applied += 1
    // It does not wait for what it runs: that is let go, and another worker has it.
    if (applied === story.losesAt) void inboxes[0]?.stop()
  }
  for (const inbox of inboxes.slice(0, 2)) register(inbox, story, order, work)
  await Promise.all(inboxes.slice(0, 2).map((inbox) => inbox.start()))
  const receiver = inboxes[2] as OrderedInbox
  const ids = new Set<string>()
  for (const sent of story.arrivals) ids.add(await deliverTo(receiver, sent))
  await expect
    .poll(async () => {
      const states = await Promise.all([...ids].map(async (id) => (await setup.find(id)).state))
      return states.filter((state) => state !== 'done' && state !== 'skipped')
    }, PATIENT)
    .toEqual([])
  await Promise.all(inboxes.map((inbox) => inbox.stop()))
}

function register(
  inbox: OrderedInbox,
  { isSteps }: Story,
  order: OrderOptions<Sent>,
  work: (event: { payload: Sent }, tx: QueryTx) => Promise<void>,
): void {
  const options = { order, retry: AT_ONCE }
  if (isSteps) {
    inbox.steps('partner', 'item.*', options, async (event, step) => {
      await step.tx('work', (tx) => work(event, tx))
    })
  } else inbox.on('partner', 'item.*', options, (event, { tx }) => work(event, tx))
  inbox.on('partner', 'made', { retry: AT_ONCE }, (event, { tx }) => work(event, tx))
}

/** In the order of their first arrival. */
function unique(arrivals: readonly Sent[]): readonly Sent[] {
  return [...new Map(arrivals.map((sent) => [sent.id, sent])).values()]
}

function byNumber(arrivals: readonly Sent[]): readonly Sent[] {
  return unique(arrivals).toSorted((one, other) => (one.n ?? 0) - (other.n ?? 0))
}

function idsOf(sent: readonly Sent[], lane: string): readonly string[] {
  return sent.filter((each) => each.lane === lane).map(({ id }) => id)
}
