import { describe, expect, test } from 'vitest'
import { Breaker } from '../../src/outbox/breaker.ts'
import { RateLimit } from '../../src/outbox/rate-limit.ts'

describe('a breaker', () => {
  const create = () => new Breaker({ failuresMax: 3, openMs: 100 })

  test('opens after so many failures in a row, and not before', () => {
    const breaker = create()

    expect([breaker.failed(0), breaker.failed(0)]).toEqual([false, false])
    breaker.answered()
    expect([breaker.failed(0), breaker.failed(0)]).toEqual([false, false])
    expect(breaker.room(0, 5)).toBe(Infinity)
    expect(breaker.failed(0)).toBe(true)
    expect(breaker.room(50, 0)).toBe(0)
    expect(breaker.waitMs(50)).toBe(50)
  })

  test('lets one through after its time, which decides', () => {
    const breaker = create()
    for (let i = 0; i < 3; i += 1) breaker.failed(0)

    expect(breaker.room(100, 0)).toBe(1)
    expect(breaker.room(100, 1)).toBe(0)
    expect(breaker.failed(100)).toBe(true)
    expect(breaker.room(199, 0)).toBe(0)
    expect(breaker.room(200, 0)).toBe(1)
    expect(breaker.answered()).toBe(true)
    expect(breaker.room(200, 9)).toBe(Infinity)
  })

  test('counts those that were on their way when it opened only once', () => {
    const breaker = create()

    expect([1, 2, 3, 4, 5].map(() => breaker.failed(0))).toEqual([false, false, true, false, false])
  })

  test('is held for as long as asked, and is closed afterwards', () => {
    const breaker = create()

    breaker.hold(0, 500)
    breaker.hold(0, 100)

    expect(breaker.room(499, 0)).toBe(0)
    expect(breaker.room(500, 9)).toBe(Infinity)
  })
})

describe('a rate limit', () => {
  test('lets so many through in a second, spread over it', () => {
    const limit = new RateLimit(100)
    let taken = 0
    for (let now = 0; now < 1_000; now += 1) while (limit.tryTake(now)) taken += 1

    // A tenth of a second's worth may go at once.
    expect(taken).toBeGreaterThanOrEqual(100)
    expect(taken).toBeLessThanOrEqual(110)
  })

  test('says how long to wait', () => {
    const limit = new RateLimit(10)

    expect(limit.tryTake(0)).toBe(true)
    expect(limit.tryTake(0)).toBe(false)
    expect(limit.waitMs(0)).toBe(100)
    expect(limit.tryTake(100)).toBe(true)
  })

  test('of none is none', () => {
    const limit = new RateLimit(0)

    expect(Array.from({ length: 1_000 }, () => limit.tryTake(0)).every(Boolean)).toBe(true)
    expect(limit.waitMs(0)).toBe(0)
  })
})
