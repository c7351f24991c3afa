import { describe, expect, test } from 'vitest'
import { FairOrder } from '../../src/work/fair-order.ts'
import type { Branch } from '../../src/work/fair-order.ts'

interface Candidate {
  readonly branch: Branch
}

/** `stripe/invoices/invoice.paid`, each with its weight after a colon where it is not 1. */
function candidate(path: string): Candidate {
  const branch = path.split('/').map((part, level) => {
    const [name = '', weight = '1'] = part.split(':')
    return { name: `${level} ${name}`, weight: Number(weight) }
  })
  return { branch }
}

/** How often each runs in so many runs, when one of its runs takes so long. */
function count(
  candidates: readonly Candidate[],
  turns: number,
  ranMs = (_: number) => 1,
): number[] {
  const order = new FairOrder()
  const counts = candidates.map(() => 0)
  for (let turn = 0; turn < turns; turn += 1) {
    const index = candidates.indexOf(order.pick(candidates))
    counts[index] = (counts[index] ?? 0) + 1
    order.charge((candidates[index] as Candidate).branch, ranMs(index))
  }
  return counts
}

describe('the fair order', () => {
  test('gives each of two sources half of the runs, however many types one of them has', () => {
    const many = Array.from({ length: 9 }, (_, n) => candidate(`stripe/invoices/type_${n}`))

    const [quiet, ...others] = count([candidate('github/pushes/push'), ...many], 900)

    expect(quiet).toBe(450)
    expect(others).toEqual(Array.from({ length: 9 }, () => 50))
  })

  test('gives each handler of a source the same, however many types one of them has', () => {
    const all = [
      candidate('stripe/refunds/r'),
      candidate('stripe/all/a'),
      candidate('stripe/all/b'),
    ]

    expect(count(all, 400)).toEqual([200, 100, 100])
  })

  test('counts time and not runs: a slow handler has as much of it as a quick one', () => {
    const all = [candidate('stripe/slow/s'), candidate('stripe/quick/q')]

    const [slow, quick] = count(all, 1_010, (index) => (index === 0 ? 100 : 1))

    expect(slow).toBe(10)
    expect(quick).toBe(1_000)
  })

  test('gives a weight of three three times as much', () => {
    expect(count([candidate('stripe:3/a/a'), candidate('github/b/b')], 400)).toEqual([300, 100])
    expect(count([candidate('stripe/a:3/a'), candidate('stripe/b/b')], 400)).toEqual([300, 100])
  })

  test('does not let one that was away for long take all runs when it is back', () => {
    const order = new FairOrder()
    const busy = candidate('stripe/a/a')
    const back = candidate('github/b/b')
    for (let turn = 0; turn < 100_000; turn += 1) order.charge(busy.branch, 1)

    let turns = 0
    while (order.pick([busy, back]) === back) {
      order.charge(back.branch, 1)
      turns += 1
    }

    expect(turns).toBeGreaterThan(0)
    expect(turns).toBeLessThan(2_000)
  })
})
