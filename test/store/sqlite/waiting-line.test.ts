import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HoldTimes, SLOW_MS } from '../../../src/store/sqlite/hold-times.ts'
import { WaitingLine } from '../../../src/store/sqlite/waiting-line.ts'
import type { Waiter } from '../../../src/store/sqlite/waiting-line.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

describe('sqlite: who has the writer next', () => {
  test('the quick go by arrival', () => {
    const line = new WaitingLine()
    const first = aWaiter(0)
    line.add(first)
    line.add(aWaiter(0))

    expect(line.next()).toEqual({ waiter: first, inMs: 0 })
  })

  test('a slow one goes after quick ones that came later', () => {
    const line = new WaitingLine()
    const quick = aWaiter(0)
    line.add(aWaiter(1_000))
    line.add(quick)

    expect(line.next()?.waiter).toBe(quick)
  })

  test('a slow one has its turn when others have gone first for as long as it is likely to take', () => {
    const line = new WaitingLine()
    const slow = aWaiter(1_000)
    line.add(slow)
    line.add(aWaiter(0))
    pass(1_000)

    expect(line.next()).toEqual({ waiter: slow, inMs: 0 })
  })

  test('and that begins anew when another slow one has had its turn', () => {
    const line = new WaitingLine()
    const quick = aWaiter(0)
    line.add(aWaiter(1_000))
    line.add(quick)
    pass(1_000)
    line.ended(1_000)

    expect(line.next()?.waiter).toBe(quick)
  })

  test('after a quick turn a slow one waits a moment for what may follow from it', () => {
    const line = new WaitingLine()
    const slow = aWaiter(1_000)
    line.ended(0)
    line.add(slow)

    expect(line.next()).toEqual({ waiter: slow, inMs: 20 })
    expect(line.mayPass(1_000)).toBe(false)
    expect(line.mayPass(0)).toBe(true)
    pass(20)
    expect(line.next()).toEqual({ waiter: slow, inMs: 0 })
  })

  test('the moment is a small part of what a slow one takes', () => {
    const line = new WaitingLine()
    const slow = aWaiter(100)
    line.ended(0)
    line.add(slow)

    expect(line.next()).toEqual({ waiter: slow, inMs: 5 })
  })

  test('a slow one that comes does not pass the ones that wait', () => {
    const line = new WaitingLine()
    line.add(aWaiter(1_000))

    expect(line.mayPass(1_000)).toBe(false)
  })
})

describe('sqlite: how long the writer is held', () => {
  test('a topic is slow by what each of its events takes', () => {
    const times = new HoldTimes()
    times.held([1, 1, 1, 1], 4 * SLOW_MS - 1)
    times.held([2, 2, 2, 2], 4 * SLOW_MS)

    expect(times.findSlowMs([1])).toBe(0)
    expect(times.findSlowMs([1, 2])).toBe(SLOW_MS)
  })

  test('one that is quick again is not slow for long', () => {
    const times = new HoldTimes()
    times.held([1], 60_000)
    for (let run = 0; run < 10; run += 1) times.held([1], 1)

    expect(times.findSlowMs([1])).toBe(0)
  })

  test('of several topics in one transaction none is known for it', () => {
    const times = new HoldTimes()
    times.held([1, 2], 60_000)

    expect(times.findSlowMs([1, 2])).toBe(0)
  })
})

function aWaiter(slowMs: number): Waiter {
  return { slowMs: () => slowMs, grant: () => undefined, refuse: () => undefined }
}

function pass(ms: number): void {
  vi.advanceTimersByTime(ms)
}
