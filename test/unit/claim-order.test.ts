import { describe, expect, test } from 'vitest'
import { ClaimOrder } from '../../src/work/claim-order.ts'
import type { ClaimKind } from '../../src/work/claim-order.ts'

const KINDS: readonly ClaimKind[] = ['fresh', 'leasable', 'again', 'suspect']

describe('the order of claims', () => {
  test('has every kind in every turn, and each of them first in some', () => {
    const order = new ClaimOrder()
    const turns = Array.from({ length: 8 }, (_, turn) => order.listKinds(turn))

    for (const kinds of turns) expect([...kinds].sort()).toEqual([...KINDS].sort())
    expect(new Set(turns.map(([first]) => first))).toEqual(new Set(KINDS))
  })

  test('puts last what had nothing a moment ago, and back in its place after that', () => {
    let now = 1_000
    const order = new ClaimOrder(() => now)
    expect(order.listKinds(0)).toEqual(['again', 'suspect', 'leasable', 'fresh'])

    order.noteEmpty('again')
    order.noteEmpty('suspect')

    expect(order.listKinds(0)).toEqual(['leasable', 'fresh', 'again', 'suspect'])
    now += 50
    expect(order.listKinds(0)).toEqual(['again', 'suspect', 'leasable', 'fresh'])
  })

  test('never puts off what is fresh', () => {
    const order = new ClaimOrder()

    order.noteEmpty('fresh')

    expect(order.listKinds(1)[0]).toBe('fresh')
  })
})
