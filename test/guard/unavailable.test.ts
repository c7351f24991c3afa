import { describe, expect, test } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { COMPLETE } from '../../src/guard/scripts.ts'
import { until } from '../support/faults/until.ts'
import { aSignal } from '../support/a-signal.ts'
import { aGuard } from '../support/redis/guard-under-test.ts'
import {
  hasNoRedisServer,
  openRedis,
  startOwnRedis,
  watchScripts,
} from '../support/redis/open-redis.ts'

const OPTIONS = { leaseMs: 4_000, commandTimeoutMs: 1_500 }

describe.skipIf(hasNoRedisServer).each(['redis', 'ioredis'] as const)(
  'without Redis, %s',
  (kind) => {
    test('nothing runs, and everything goes on when it is back', async () => {
      const server = await startOwnRedis()
      const redis = await openRedis(kind, server.address)
      const { guard } = await aGuard({ redis, ...OPTIONS })
      let runs = 0
      await guard.once('orders', 'evt_0', () => 1)
      expect(guard.isReady()).toBe(true)

      await server.stop()
      const refused = guard.once('orders', 'evt_1', () => (runs += 1))
      await expect(refused).rejects.toBeInstanceOf(StoreUnavailableError)
      await expect(guard.once('orders', 'evt_1', () => (runs += 1))).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        retryable: true,
      })
      expect(guard.isReady()).toBe(false)
      expect(runs).toBe(0)
      await server.start()

      await until('it runs again', async () => {
        try {
          return (await guard.once('orders', 'evt_1', () => (runs += 1))).status === 'done'
        } catch {
          return false
        }
      })
      expect(runs).toBe(1)
      expect(guard.isReady()).toBe(true)
    })

    test('a claim that was given up and is sent after all keeps no delivery out', async () => {
      const server = await startOwnRedis()
      const redis = await openRedis(kind, server.address)
      const { guard } = await aGuard({ redis, ...OPTIONS, leaseMs: 900_000 })
      await guard.once('orders', 'evt_0', () => 1)

      server.signal('SIGSTOP')
      const refused = guard.once('orders', 'evt_1', () => 1)
      await expect(refused).rejects.toBeInstanceOf(StoreUnavailableError)
      server.signal('SIGCONT')

      await until('the next delivery runs', async () => {
        const { status } = await guard
          .once('orders', 'evt_1', () => 1)
          .catch(() => ({ status: '' }))
        return status === 'done'
      })
    })

    test('everything runs where that was asked for, and is said to be unguarded', async () => {
      const server = await startOwnRedis()
      const redis = await openRedis(kind, server.address)
      const { guard, happened } = await aGuard({ redis, ...OPTIONS, whenUnavailable: 'run' })
      await server.stop()

      const first = await guard.once('orders', 'evt_1', () => 1)
      const second = await guard.once('orders', 'evt_1', () => 2)

      expect([first, second]).toEqual([
        { status: 'unguarded', result: 1 },
        { status: 'unguarded', result: 2 },
      ])
      expect(happened).toEqual(['guard.unguarded', 'guard.unguarded'])
    })

    test('work that is done when it goes away is done, and said to be unmarked', async () => {
      const server = await startOwnRedis()
      const redis = await openRedis(kind, server.address)
      const { guard, happened } = await aGuard({ redis, ...OPTIONS })

      const outcome = await guard.once('orders', 'evt_1', async () => {
        await server.stop()
        return 'charged'
      })

      expect(outcome).toEqual({ status: 'unmarked', reason: 'unavailable', result: 'charged' })
      expect(happened).toEqual(['guard.unmarked'])
    })
  },
)

describe.skipIf(hasNoRedisServer)('a mark', () => {
  test('is tried again for as long as the lease lasts', async () => {
    const redis = await openRedis('redis', (await startOwnRedis()).address)
    let tries = 0
    const client = watchScripts(redis.client, (sha1, send) => {
      if (sha1 !== COMPLETE.sha1) return send()
      tries += 1
      return tries < 3 ? Promise.reject(new Error('connection lost')) : send()
    })
    const { guard } = await aGuard({ redis, client })

    expect(await guard.once('orders', 'evt_1', () => 1)).toEqual({ status: 'done', result: 1 })
    expect((await guard.once('orders', 'evt_1', () => 2)).status).toBe('duplicate')
  })

  test('in after-commit mode that cannot be written is said to be missing', async () => {
    const server = await startOwnRedis()
    const redis = await openRedis('redis', server.address)
    const { guard } = await aGuard({ redis, ...OPTIONS, mode: 'after-commit' })

    const outcome = await guard.once('orders', 'evt_1', () => server.stop())

    expect(outcome).toMatchObject({ status: 'unmarked', reason: 'unavailable' })
  })
})

describe.skipIf(hasNoRedisServer)('a server that is full', () => {
  test('refuses the claim, and nothing runs', async () => {
    const server = await startOwnRedis()
    const redis = await openRedis('redis', server.address)
    await redis.send('CONFIG', 'SET', 'maxmemory', '1')
    const { guard } = await aGuard({ redis, ...OPTIONS })
    const ran = aSignal()
    let runs = 0

    const call = guard.once('orders', 'evt_1', () => ((runs += 1), ran.give()))

    await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(runs).toBe(0)
  })
})
