import { describe, expect, test } from 'vitest'
import { TopicHealth } from '../../src/work/topic-health.ts'

const UNIT = 'shop: *'
const GOOD = { unit: UNIT, durationMs: 1, failed: false }
const BAD = { ...GOOD, failed: true }

describe('the health of a topic', () => {
  test('is good until it has shown otherwise', () => {
    expect(new TopicHealth({ slowMs: 100 }).isTroubled(1, UNIT)).toBe(false)
  })

  test('is bad after some failures in a row, not after one, and good again after some successes', () => {
    const health = new TopicHealth({ slowMs: 100 })
    health.ran(1, BAD)
    expect(health.isTroubled(1, UNIT)).toBe(false)
    for (let n = 0; n < 5; n += 1) health.ran(1, BAD)
    expect(health.isTroubled(1, UNIT)).toBe(true)

    for (let n = 0; n < 10; n += 1) health.ran(1, GOOD)

    expect(health.isTroubled(1, UNIT)).toBe(false)
  })

  test('is bad while it is slow, for itself only', () => {
    const health = new TopicHealth({ slowMs: 100 })
    health.ran(1, { ...GOOD, durationMs: 10_000 })
    health.ran(2, GOOD)

    expect(health.isTroubled(1, UNIT)).toBe(true)
    expect(health.isTroubled(2, UNIT)).toBe(false)
  })

  test('is known when an event of it has ended', () => {
    const health = new TopicHealth({ slowMs: 100 })
    health.ran(1, GOOD)

    expect(health.isKnown(1)).toBe(true)
    expect(health.isKnown(2)).toBe(false)
  })

  test('is that of most other topics with the same handlers, as long as it is not known', () => {
    const health = new TopicHealth({ slowMs: 100 })
    for (const topic of [1, 2]) health.ran(topic, { ...GOOD, durationMs: 10_000 })
    health.ran(3, GOOD)
    health.ran(4, { ...GOOD, unit: 'shop: other' })

    expect(health.isTroubled(5, UNIT)).toBe(true)
    expect(health.isTroubled(5, 'shop: other')).toBe(false)
    expect(health.isTroubled(3, UNIT)).toBe(false)

    for (let n = 0; n < 50; n += 1) health.ran(2, GOOD)

    expect(health.isTroubled(5, UNIT)).toBe(false)
  })
})
