/**
 * Stories of fleets (`order-fleet.ts`), made at random.
 *
 * @module
 */

import fc from 'fast-check'
import type { Death, Story } from './order-fleet.ts'
import type { Sent } from './ordered-inbox.ts'
import { RUNS_ALL } from './slow-tests.ts'

export const LANES = ['K', 'L', 'M']
const COUNT = 5

/** What a sender has sent: each number of each lane. */
export const SENT: readonly Sent[] = LANES.flatMap((lane) =>
  Array.from({ length: COUNT }, (_, at) => ({ id: `${lane}${at + 1}`, lane, n: at + 1 })),
)

/** `HOOKONCE_ORDER_RUNS=200` for more of them. */
const RUNS = Number(process.env['HOOKONCE_ORDER_RUNS'] ?? (RUNS_ALL ? 40 : 4))
/** After the example, which is the first run. Where it fails, `seed` and `path` are in the message. */
export const ORDER_RUNS = { numRuns: RUNS + 1, endOnFailure: true } as const
/** A minute for those of a run of `npm test`, and as much for each ten more. */
export const LIMIT = { timeout: 120_000 + RUNS * 30_000 }

const POINTS = [
  'before-store',
  'after-store',
  'before-handler',
  'after-handler',
  'before-commit',
  'after-commit',
  'before-settle',
] as const

export function stories(): fc.Arbitrary<Story> {
  return fc.record({
    arrivals: arrivalsOf(SENT),
    failures: fc
      .array(fc.tuple(fc.constantFrom(...SENT), fc.integer({ min: 1, max: 2 })), { maxLength: 5 })
      .map((list) => new Map(list.map(([{ id }, times]) => [id, times]))),
    deaths: fc.array(
      fc.record<Death>({
        point: fc.constantFrom(...POINTS),
        nth: fc.integer({ min: 1, max: SENT.length }),
      }),
      { maxLength: 3 },
    ),
    isSteps: fc.boolean(),
  })
}

/** In any order, with redeliveries among them: before others have arrived for the first time, and after all of them. */
function arrivalsOf(sent: readonly Sent[]): fc.Arbitrary<readonly Sent[]> {
  const copies = fc.array(fc.tuple(fc.constantFrom(...sent), fc.nat({ max: 2 * sent.length })), {
    maxLength: 10,
  })
  return fc
    .tuple(fc.shuffledSubarray([...sent], { minLength: sent.length }), copies)
    .map(([originals, again]) =>
      again.reduce<readonly Sent[]>((list, [copy, at]) => list.toSpliced(at, 0, copy), originals),
    )
}

/** The newest first, each lane's last twice among the others, and a death at every point. */
export function exampleOf(isSteps: boolean): Story {
  const backwards = SENT.toReversed()
  return {
    arrivals: backwards.flatMap((sent) =>
      sent.n === 3 ? [sent, { ...sent, id: `${sent.lane}${COUNT}`, n: COUNT }] : [sent],
    ),
    failures: new Map([['K1', 2]]),
    deaths: POINTS.map((point, at) => ({ point, nth: at + 2 })),
    isSteps,
  }
}

/** In the order of their first arrival. */
export function unique(arrivals: readonly Sent[]): readonly Sent[] {
  return [...new Map(arrivals.map((sent) => [sent.id, sent])).values()]
}

export function byNumber(arrivals: readonly Sent[]): readonly Sent[] {
  return unique(arrivals).toSorted((one, other) => (one.n ?? 0) - (other.n ?? 0))
}

export function idsOf(sent: readonly Sent[], lane: string): readonly string[] {
  return sent.filter((each) => each.lane === lane).map(({ id }) => id)
}
