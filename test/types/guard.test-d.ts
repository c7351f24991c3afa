import type { Redis, Cluster } from 'ioredis'
import { createClient, createClientPool, createCluster } from 'redis'
import { describe, expectTypeOf, test } from 'vitest'
import { createGuard } from '../../src/guard/index.ts'
import type { Kept, OnceOutcome, RedisClient } from '../../src/guard/index.ts'
import { stripe } from '../../src/providers/index.ts'
import type { StripePayload } from '../../src/providers/index.ts'

const guard = createGuard({
  redis: createClient(),
  sources: { stripe: stripe({ secrets: ['x'] }), orders: { retryWindowHours: 24 } },
})

describe('a guard', () => {
  test('takes every client', () => {
    expectTypeOf(createClient()).toExtend<RedisClient>()
    expectTypeOf(createClientPool()).toExtend<RedisClient>()
    expectTypeOf(createCluster({ rootNodes: [] })).toExtend<RedisClient>()
    expectTypeOf<Redis>().toExtend<RedisClient>()
    expectTypeOf<Cluster>().toExtend<RedisClient>()
  })

  test('knows its sources, and which of them can verify', () => {
    void guard.once('orders', 'evt_1', () => 1)
    // @ts-expect-error: no such source
    void guard.once('refunds', 'evt_1', () => 1)
    guard.middleware('stripe')
    // @ts-expect-error: it has a retry window only
    guard.middleware('orders')
    // @ts-expect-error: it has a retry window only
    guard.on('orders', () => undefined)
    // @ts-expect-error: no such option
    createGuard({ redis: createClient(), sources: {}, ttl: 1 })
  })

  test('gives a duplicate what JSON gives back', () => {
    const call = guard.once('orders', 'evt_1', () => Promise.resolve({ at: new Date(), n: 1 }))

    expectTypeOf(call).resolves.toEqualTypeOf<OnceOutcome<{ at: Date; n: number }>>()
    expectTypeOf<Extract<Awaited<typeof call>, { status: 'duplicate' }>['result']>().toEqualTypeOf<
      { at: string; n: number } | undefined
    >()
    expectTypeOf<Kept<readonly [Date, undefined, 'x']>>().toEqualTypeOf<
      readonly [string, null, 'x']
    >()
    expectTypeOf<Kept<unknown>>().toEqualTypeOf<unknown>()
    expectTypeOf<Kept<(() => void) | bigint>>().toEqualTypeOf<undefined>()
  })

  test('hands the payload of its source to the work', () => {
    guard.on('stripe', (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<StripePayload>()
    })
    expectTypeOf(guard.delivered('stripe', {}).event.payload).toEqualTypeOf<StripePayload>()
  })
})
