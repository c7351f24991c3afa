import { describe, expect, test } from 'vitest'
import { StoreRejectedError } from '../../src/errors.ts'
import { aSignal } from '../support/a-signal.ts'
import { aGuard } from '../support/redis/guard-under-test.ts'
import { freshPrefix, hasNoRedis, openRedis } from '../support/redis/open-redis.ts'

describe.skipIf(hasNoRedis).each(['redis', 'ioredis'] as const)('a guard on %s', (kind) => {
  test('runs the work of an event once and gives duplicates its result', async () => {
    const { guard, happened } = await aGuard({ redis: await openRedis(kind) })
    let runs = 0
    const work = () => ({ runs: (runs += 1), at: new Date(0), text: 'é \u0000 "' })

    const first = await guard.once('orders', 'evt_1', work)
    const second = await guard.once('orders', 'evt_1', work)

    expect(first).toEqual({
      status: 'done',
      result: { runs: 1, at: new Date(0), text: 'é \u0000 "' },
    })
    expect(second).toEqual({
      status: 'duplicate',
      result: { runs: 1, at: '1970-01-01T00:00:00.000Z', text: 'é \u0000 "' },
    })
    expect(runs).toBe(1)
    expect(happened).toEqual(['guard.done', 'guard.duplicate'])
  })

  test('of many calls at once runs one; the others are told that it is running', async () => {
    const { guard } = await aGuard({ redis: await openRedis(kind) })
    const go = aSignal()
    let runs = 0

    const calls = Array.from({ length: 50 }, () =>
      guard.once('orders', 'evt_1', async () => {
        runs += 1
        await go.given
      }),
    )
    const others = await Promise.all(
      Array.from({ length: 50 }, () => guard.once('orders', 'evt_1', () => (runs += 1))),
    )
    go.give()
    const statuses = (await Promise.all(calls)).map(({ status }) => status)

    expect(statuses.filter((status) => status === 'done')).toHaveLength(1)
    expect(statuses.filter((status) => status === 'busy')).toHaveLength(49)
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set(['busy']))
    expect(runs).toBe(1)
  })

  test('gives the lease back when the work throws, and throws what it threw', async () => {
    const { guard, redis, redisKey, happened } = await aGuard({ redis: await openRedis(kind) })
    const error = new Error('declined')

    await expect(guard.once('orders', 'evt_1', () => Promise.reject(error))).rejects.toBe(error)
    expect(await redis.send('EXISTS', redisKey('evt_1'))).toBe(0)
    const again = await guard.once('orders', 'evt_1', () => 'ok')

    expect(again).toEqual({ status: 'done', result: 'ok' })
    expect(happened).toEqual(['guard.failed', 'guard.done'])
  })

  test('keeps the mark for the retention and the lease for its own time', async () => {
    const { guard, redis, redisKey } = await aGuard({
      redis: await openRedis(kind),
      retentionDays: 3,
      leaseMs: 60_000,
    })
    const ttl = async () => Number(await redis.send('PTTL', redisKey('evt_1')))

    await guard.once('orders', 'evt_1', async () => {
      expect(await ttl()).toBeLessThanOrEqual(60_000)
    })

    expect(await ttl()).toBeLessThanOrEqual(3 * 86_400_000)
    expect(await ttl()).toBeGreaterThan(2 * 86_400_000)
  })

  test('goes on after the server has lost its scripts', async () => {
    const { guard, redis } = await aGuard({ redis: await openRedis(kind) })
    await guard.once('orders', 'evt_1', () => 1)

    await redis.send('SCRIPT', 'FLUSH')

    expect((await guard.once('orders', 'evt_1', () => 2)).status).toBe('duplicate')
    expect((await guard.once('orders', 'evt_2', () => 2)).status).toBe('done')
  })
})

describe.skipIf(hasNoRedis)('a guard', () => {
  test('keeps events with the same key apart by their source, and keys of any bytes', async () => {
    const redis = await openRedis()
    const prefix = freshPrefix()
    const sources = { orders: { retryWindowHours: 1 }, refunds: { retryWindowHours: 1 } }
    const { guard } = await aGuard({ redis, prefix })
    const { createGuard } = await import('../../src/guard/index.ts')
    const both = createGuard({ redis: redis.client, sources, prefix })
    const keys = [
      'evt',
      'evt:1',
      ':',
      '{a}',
      'x'.repeat(6_000),
      'a\u0000b',
      '\ud800',
      '\ud801',
      'é',
    ]

    for (const key of keys) {
      expect((await both.once('refunds', key, () => 1)).status).toBe('done')
      expect((await both.once('orders', key, () => 1)).status).toBe('done')
      expect((await guard.once('orders', key, () => 1)).status).toBe('duplicate')
    }
  })

  test('hands out the idempotency keys that an inbox handler named guard would', async () => {
    const { guard } = await aGuard()
    const { deriveIdempotencyKey } = await import('../../src/model/idempotency-key.ts')
    const { draftEvents } = await import('../../src/receive/identity.ts')
    const [draft] = draftEvents(
      {
        sourceName: 'orders',
        source: { sameBytes: 'run', redelivery: 'retry' } as never,
        delivery: {
          method: 'POST',
          url: '/',
          headers: {},
          body: Buffer.from(''),
          receivedAt: new Date(),
        },
        verdict: { ok: true, secret: '' },
      },
      [{ key: 'evt_1', type: 'x' }],
    )
    const keyHash = Buffer.from(draft?.keyHash ?? '', 'latin1').toString('hex')

    const outcome = await guard.once('orders', 'evt_1', ({ idempotencyKey }) => [
      idempotencyKey(),
      idempotencyKey('label'),
    ])

    expect(outcome).toEqual({
      status: 'done',
      result: ['', 'label'].map((name) =>
        deriveIdempotencyKey({ keyHash, handler: 'guard', name }),
      ),
    })
  })

  test.each([
    ['a result that JSON cannot write', () => 1n],
    ['a result that is too large', () => 'x'.repeat(100)],
  ])('marks the work without %s', async (_name, work) => {
    const { guard, happened } = await aGuard({ resultBytesMax: 100 })

    expect((await guard.once<unknown>('orders', 'evt_1', work)).status).toBe('done')
    expect(await guard.once<unknown>('orders', 'evt_1', work)).toEqual({
      status: 'duplicate',
      result: undefined,
    })
    expect(happened).toContain('guard.result-dropped')
  })

  test('forgets a mark when asked to, but never a lease', async () => {
    const { guard } = await aGuard()
    const running = aSignal()
    const go = aSignal()

    expect(await guard.forget('orders', 'evt_1')).toBe('absent')
    const run = guard.once('orders', 'evt_1', () => (running.give(), go.given))
    await running.given
    expect(await guard.forget('orders', 'evt_1')).toBe('running')
    go.give()
    await run

    expect(await guard.forget('orders', 'evt_1')).toBe('forgotten')
    expect((await guard.once('orders', 'evt_1', () => 1)).status).toBe('done')
  })

  test('refuses a key that holds what no guard has written, and leaves it alone', async () => {
    const { guard, redis, redisKey } = await aGuard()
    await redis.send('SET', redisKey('evt_1'), 'another program’s')
    let runs = 0

    const call = guard.once('orders', 'evt_1', () => (runs += 1))

    await expect(call).rejects.toBeInstanceOf(StoreRejectedError)
    expect(runs).toBe(0)
    expect(await redis.send('GET', redisKey('evt_1'))).toBe('another program’s')
  })
})

describe.skipIf(hasNoRedis)('in after-commit mode', () => {
  test('what runs at the same time all runs, and what comes later is a duplicate', async () => {
    const { guard } = await aGuard({ mode: 'after-commit' })
    const go = aSignal()
    const started = [aSignal(), aSignal()]

    const both = started.map((signal, index) =>
      guard.once('orders', 'evt_1', async () => {
        signal.give()
        await go.given
        return index
      }),
    )
    await Promise.all(started.map(({ given }) => given))
    go.give()
    const outcomes = await Promise.all(both)
    const later = await guard.once('orders', 'evt_1', () => 2)

    expect(outcomes.map(({ status }) => status)).toEqual(['done', 'done'])
    expect(later.status).toBe('duplicate')
    expect([0, 1]).toContain(later.status === 'duplicate' ? later.result : undefined)
  })

  test('the first mark stays', async () => {
    const { guard } = await aGuard({ mode: 'after-commit' })

    await guard.once('orders', 'evt_1', async () => {
      await guard.once('orders', 'evt_1', () => 'inner')
      return 'outer'
    })

    expect(await guard.once('orders', 'evt_1', () => 'later')).toEqual({
      status: 'duplicate',
      result: 'inner',
    })
  })

  test('what throws is not marked', async () => {
    const { guard, happened } = await aGuard({ mode: 'after-commit' })

    await expect(
      guard.once('orders', 'evt_1', () => Promise.reject(new Error('no'))),
    ).rejects.toThrow('no')

    expect((await guard.once('orders', 'evt_1', () => 1)).status).toBe('done')
    expect(happened).toEqual(['guard.failed', 'guard.done'])
  })
})
