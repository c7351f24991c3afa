import { describe, expect, test } from 'vitest'
import { GroupSizes } from '../../../src/work/group/group-sizes.ts'
import { HandlerRegistry } from '../../../src/work/handler-registry.ts'
import type { HandlerOptions } from '../../../src/work/handler-options.ts'
import type { HandlerUnit } from '../../../src/work/handler-unit.ts'

function unitOf(options: HandlerOptions = {}): HandlerUnit {
  const handlers = new HandlerRegistry(new Set(['stripe']))
  handlers.add('stripe', '*', options, () => undefined)
  return handlers.findUnit('stripe', 'a') as HandlerUnit
}

const A = 1
const B = 2

describe('group sizes', () => {
  test('the first event of a topic runs alone, and what it took decides how many are next', () => {
    const unit = unitOf()
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })
    expect(sizes.limitFor(unit, A)).toBe(1)

    sizes.measured(A, 1)
    sizes.measured(B, 10_000)

    expect(sizes.limitFor(unit, A)).toBe(50)
    expect(sizes.limitFor(unit, B)).toBe(1)
  })

  test('success lets a group grow up to the most', () => {
    const unit = unitOf()
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    sizes.succeeded(A, 1)
    expect(sizes.limitFor(unit, A)).toBe(50)
    for (let i = 0; i < 20; i += 1) sizes.succeeded(A, sizes.limitFor(unit, A))

    expect(sizes.limitFor(unit, A)).toBe(200)
  })

  test('a small group says nothing about a larger one', () => {
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 20; i += 1) sizes.succeeded(A, 3)

    expect(sizes.limitFor(unitOf(), A)).toBe(50)
  })

  test('contention halves the group, down to one, for its own topic only', () => {
    const unit = unitOf()
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })
    sizes.measured(B, 1)

    sizes.contended(A)
    expect(sizes.limitFor(unit, A)).toBe(25)
    for (let i = 0; i < 10; i += 1) sizes.contended(A)

    expect(sizes.limitFor(unit, A)).toBe(1)
    expect(sizes.limitFor(unit, B)).toBe(50)
  })

  test('a handler that turns out slow is not grouped, and grouped again once it is fast', () => {
    const unit = unitOf()
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 5; i += 1) sizes.measured(A, 200)
    expect(sizes.limitFor(unit, A)).toBe(1)
    for (let i = 0; i < 100; i += 1) sizes.measured(A, 1)

    expect(sizes.limitFor(unit, A)).toBe(50)
  })

  test('a group holds no more events than fit into its time', () => {
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 100; i += 1) sizes.measured(A, 10)

    expect(sizes.limitFor(unitOf(), A)).toBe(10)
  })

  test('a topic whose handler took its connection along runs one at a time, until that went well', () => {
    const unit = unitOf()
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })
    sizes.measured(A, 1)

    sizes.lost(A)
    expect(sizes.limitFor(unit, A)).toBe(1)
    sizes.succeeded(A, 1)

    expect(sizes.limitFor(unit, A)).toBeGreaterThan(1)
  })

  test('what it takes to settle them is part of its time', () => {
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 100; i += 1) {
      sizes.measured(A, 5)
      sizes.settled(10, 50)
    }

    expect(sizes.limitFor(unitOf(), A)).toBe(10)
    expect(sizes.isOver(50, 10)).toBe(false)
    expect(sizes.isOver(60, 10)).toBe(true)
  })

  test('its time is what its trips to the database take, where that is longer, and at most ten times its own', () => {
    const unit = unitOf()
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })
    sizes.measured(A, 10)
    const answerIn = (tripMs: number) => {
      for (let i = 0; i < 200; i += 1) sizes.answered(tripMs)
    }

    answerIn(5)
    expect(sizes.limitFor(unit, A)).toBe(10)
    expect(sizes.isOver(110, 1)).toBe(true)

    answerIn(50)
    expect(sizes.limitFor(unit, A)).toBe(39)
    expect(sizes.isOver(110, 1)).toBe(false)
    expect(sizes.isOver(410, 1)).toBe(true)

    for (let i = 0; i < 20; i += 1) sizes.succeeded(A, sizes.limitFor(unit, A))
    answerIn(10_000)
    expect(sizes.limitFor(unit, A)).toBe(100)
    expect(sizes.isOver(1_010, 1)).toBe(true)
  })

  test('a handler never gets more than its own groupMax', () => {
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })
    sizes.measured(A, 1)

    expect(sizes.limitFor(unitOf({ groupMax: 3 }), A)).toBe(3)
    expect(sizes.limitFor(unitOf({ guarantee: 'at-least-once', groupMax: 3 }), A)).toBe(3)
  })
})
