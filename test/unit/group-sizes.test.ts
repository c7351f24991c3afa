import { describe, expect, test } from 'vitest'
import type { ClaimedEvent } from '../../src/store/contract.ts'
import { chooseGroup, GroupSizes } from '../../src/work/group-sizes.ts'
import { HandlerRegistry } from '../../src/work/handlers.ts'
import type { HandlerOptions, HandlerUnit } from '../../src/work/handlers.ts'

function units(types: Readonly<Record<string, HandlerOptions>>): (type: string) => HandlerUnit {
  const handlers = new HandlerRegistry(new Set(['stripe']))
  for (const [type, options] of Object.entries(types))
    handlers.add('stripe', type, options, () => undefined)
  return (type) => handlers.findUnit('stripe', type) as HandlerUnit
}

describe('group sizes', () => {
  test('success lets a group grow up to the most', () => {
    const unit = units({ a: {} })('a')
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    expect(sizes.limitFor(unit)).toBe(50)
    for (let i = 0; i < 20; i += 1) sizes.succeeded(unit, sizes.limitFor(unit))

    expect(sizes.limitFor(unit)).toBe(200)
    expect(sizes.claimLimit()).toBe(200)
  })

  test('a small group says nothing about a larger one', () => {
    const unit = units({ a: {} })('a')
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 20; i += 1) sizes.succeeded(unit, 3)

    expect(sizes.limitFor(unit)).toBe(50)
  })

  test('contention halves the group, down to one, for its own handler only', () => {
    const find = units({ a: {}, b: {} })
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    sizes.contended(find('a'))
    expect(sizes.limitFor(find('a'))).toBe(25)
    for (let i = 0; i < 10; i += 1) sizes.contended(find('a'))

    expect(sizes.limitFor(find('a'))).toBe(1)
    expect(sizes.limitFor(find('b'))).toBe(50)
  })

  test('a handler that turns out slow is not grouped, and grouped again once it is fast', () => {
    const unit = units({ a: {} })('a')
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 5; i += 1) sizes.measured(unit, 200)
    expect(sizes.limitFor(unit)).toBe(1)
    for (let i = 0; i < 50; i += 1) sizes.measured(unit, 1)

    expect(sizes.limitFor(unit)).toBe(50)
  })

  test('a group holds no more events than fit into its time', () => {
    const unit = units({ a: {} })('a')
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 100; i += 1) sizes.measured(unit, 10)

    expect(sizes.limitFor(unit)).toBe(10)
    expect(sizes.claimLimit()).toBe(10)
  })

  test('what it takes to settle them is part of its time', () => {
    const unit = units({ a: {} })('a')
    const sizes = new GroupSizes({ groupMax: 200, groupBudgetMs: 100 })

    for (let i = 0; i < 100; i += 1) {
      sizes.measured(unit, 5)
      sizes.settled(10, 50)
    }

    expect(sizes.limitFor(unit)).toBe(10)
    expect(sizes.isOver(50, 10)).toBe(false)
    expect(sizes.isOver(60, 10)).toBe(true)
  })

  test('a handler never gets more than its own groupMax', () => {
    expect(
      new GroupSizes({ groupMax: 200, groupBudgetMs: 100 }).limitFor(
        units({ a: { groupMax: 3 } })('a'),
      ),
    ).toBe(3)
  })
})

describe('what runs together', () => {
  const find = units({
    fast: {},
    few: { groupMax: 2 },
    alone: { groupMax: 1 },
    ping: { guarantee: 'at-least-once' },
  })
  const choose = (types: readonly string[], runsAlone: readonly number[] = []) =>
    chooseGroup(
      types.map((type, index) => ({ type, eventId: String(index) }) as ClaimedEvent),
      {
        sizes: new GroupSizes({ groupMax: 200, groupBudgetMs: 100 }),
        findUnit: (event) => (event.type === 'unknown' ? undefined : find(event.type)),
        runsAlone: (event) => runsAlone.includes(Number(event.eventId)),
      },
    ).map(({ eventId }) => Number(eventId))

  test('everything groupable joins the oldest', () => {
    expect(choose(['fast', 'fast', 'few', 'unknown'])).toEqual([0, 1, 2, 3])
  })

  test('each handler joins up to its own size', () => {
    expect(choose(['few', 'few', 'few', 'fast'])).toEqual([0, 1, 3])
  })

  test('an event that runs alone waits until it is the oldest, and is then the whole group', () => {
    expect(choose(['fast', 'alone', 'fast'])).toEqual([0, 2])
    expect(choose(['alone', 'fast', 'fast'])).toEqual([0])
    expect(choose(['fast', 'fast'], [0])).toEqual([0])
    expect(choose(['fast', 'fast', 'fast'], [1])).toEqual([0, 2])
  })

  test('the two guarantees never share a group', () => {
    expect(choose(['fast', 'ping', 'fast'])).toEqual([0, 2])
    expect(choose(['ping', 'fast', 'ping'])).toEqual([0, 2])
    expect(choose(['unknown', 'ping', 'fast'])).toEqual([0, 2])
  })

  test('nothing due is nothing chosen', () => {
    expect(choose([])).toEqual([])
  })
})
