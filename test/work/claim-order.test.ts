import { describe, expect, test } from 'vitest'
import { listKinds } from '../../src/work/claim-order.ts'

const KINDS = ['fresh', 'head', 'leasable', 'again', 'suspect']

describe('the order of claims', () => {
  test('has every kind in every round, and each of them first in some', () => {
    const turns = Array.from({ length: 8 }, (_, round) => listKinds(round))

    for (const kinds of turns) expect([...kinds].sort()).toEqual([...KINDS].sort())
    expect(new Set(turns.map(([first]) => first))).toEqual(new Set(KINDS))
  })

  test('has what failed before first in no more than one round of four', () => {
    const turns = Array.from({ length: 80 }, (_, round) => listKinds(round)[0])

    const later = turns.filter((first) => first === 'again' || first === 'suspect')
    expect(later.length).toBeLessThanOrEqual(turns.length / 4)
  })
})
