import { describe, expect, test, vi } from 'vitest'
import { findOrderText } from '../../src/model/order-text.ts'
import type { Order } from '../../src/ordering/order.ts'
import { isStale } from '../../src/ordering/is-stale.ts'
import { laneIdOf } from '../../src/ordering/lane-id.ts'
import { placeEvent } from '../../src/ordering/place-event.ts'

const EVENT = {
  eventId: 'event',
  source: 'stripe',
  key: 'evt_1',
  type: 'invoice.paid',
  body: { text: '{"id":"in_1"}' },
  headers: { 'content-type': 'application/json' },
  receivedAt: new Date(0),
  occurredAt: undefined,
  verifiedBy: '1',
  version: findOrderText('2026-01-01T00:00:00Z'),
  sequence: findOrderText(7),
}
const lane = () => 'in_1'
const sequence = { mode: 'sequence', lane, first: 1, gapMs: 5, onGap: 'run' } as const

describe('the place of an event', () => {
  test('follows from its lane, and from what its sender gives it', () => {
    expect(placeEvent({ mode: 'latest', lane }, EVENT).place).toBe('t2026-01-01T00:00:00')
    expect(placeEvent(sequence, EVENT)).toMatchObject({ number: 7, first: 1, waitMs: 5 })
    expect(placeEvent({ mode: 'fifo', lane, onDead: 'pass' }, EVENT).lane).toEqual({
      id: laneIdOf('stripe', 'fifo', 'in_1'),
      source: 'stripe',
      mode: 'fifo',
      key: 'in_1',
    })
  })

  test.each<[string, Order]>([
    ['a lane that is no text', { mode: 'latest', lane: () => 7 as unknown as string }],
    ['a lane that is a promise', { mode: 'latest', lane: async () => 'x' } as unknown as Order],
    ['a lane that is too long', { mode: 'latest', lane: () => 'x'.repeat(1_001) }],
    ['a number with a fraction', { ...sequence, sequence: () => 1.5 }],
    ['a number that is too large', { ...sequence, sequence: () => 2 ** 53 }],
    ['a version that is no number', { mode: 'latest', lane, version: () => Number.NaN }],
    ['a version that is no time', { mode: 'latest', lane, version: () => new Date('no') }],
    ['a version below zero', { mode: 'latest', lane, version: () => -1 }],
  ])('cannot be told with %s', (_, order) => {
    expect(() => placeEvent(order, EVENT)).toThrow(
      expect.objectContaining({ code: 'ORDER_INVALID' }),
    )
  })

  test('cannot be told with a lane that is a promise which fails, and that ends no process', async () => {
    const failing = Promise.reject(new Error('no'))
    const listen = vi.spyOn(failing, 'catch')
    const lane = () => failing
    const order = { mode: 'latest', lane } as unknown as Order

    expect(() => placeEvent(order, EVENT)).toThrow(
      expect.objectContaining({ code: 'ORDER_INVALID' }),
    )
    expect(listen).toHaveBeenCalled()
  })

  test('lanes of two sources, modes or texts are two', () => {
    const ids = [
      laneIdOf('a', 'fifo', 'bc'),
      laneIdOf('ab', 'fifo', 'c'),
      laneIdOf('a', 'latest', 'bc'),
      laneIdOf('a', 'fifo', 'b'),
    ]

    expect(new Set(ids).size).toBe(4)
    expect(ids[0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })

  test('is stale only against an older version of the same kind', () => {
    expect(isStale('n019', 'n0210')).toBe(true)
    expect(isStale('n0210', 'n0210')).toBe(false)
    expect(isStale('n0210', 'n019')).toBe(false)
    expect(isStale('n019', 't2026-01-01T00:00:00')).toBe(false)
    expect(isStale('n019', undefined)).toBe(false)
  })
})
